// Shared by the kernel tests: seeded inputs, edge sizes, and a fixture that runs each test once for
// every set this processor has and holds results bit for bit against the scalar set.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/float_environment.h"
#include "kernels/kernel_set.h"
#include "kernels/registry.h"

namespace trilith::kernels {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Random = std::mt19937_64;

inline std::vector<float> random_floats(Random& random, int64_t n, float spread = 1.0F) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) {
    // Wide in exponent, so that the order of additions shows in the last bits.
    const int exponent = static_cast<int>(random() % 12) - 8;
    const auto mantissa = static_cast<float>(static_cast<int64_t>(random() % 16777216) - 8388608);
    value = std::ldexp(mantissa, exponent - 23) * spread;
  }
  return values;
}

inline std::vector<int8_t> random_integers(Random& random, int64_t n, int low, int high) {
  std::vector<int8_t> values(static_cast<size_t>(n));
  const auto count = uint64_t{1} + static_cast<uint64_t>(high - low);
  for (int8_t& v : values) v = static_cast<int8_t>(low + static_cast<int>(random() % count));
  return values;
}

template <typename T>
::testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::ranges::equal(std::as_bytes(std::span(&a[i], 1)),
                            std::as_bytes(std::span(&b[i], 1)))) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

class EverySet : public ::testing::TestWithParam<std::string> {
 protected:
  const KernelSet& set() const { return **choose_kernels(GetParam()); }
  // Holds fn(set) against fn(scalar), whatever vector of values it returns.
  template <typename Run>
  void expect_as_scalar(Run run, const std::string& where) {
    EXPECT_TRUE(same_bits(run(set()), run(scalar_kernels))) << where;
  }
  FloatEnvironment environment_;
};

struct Shape {
  int64_t rows, cols, tokens;
};
// Around every width of the kernels: panels 64 and 16, lines 4, runs 8 and 32 lines, vectors 8 and
// 16, token groups 1, 2, 4; and none at all.
inline const Shape kShapes[] = {
    {1, 1, 1},     {1, 4, 1},    {3, 4, 2},    {64, 4, 3},   {63, 31, 4},  {65, 33, 5},
    {128, 32, 1},  {129, 36, 2}, {16, 128, 7}, {17, 129, 1}, {70, 260, 9}, {192, 40, 6},
    {48, 1028, 1}, {5, 0, 2},    {0, 8, 2},    {8, 8, 0},    {1, 2053, 3}, {200, 512, 2}};

inline std::string text(const Shape& shape) {
  return "rows " + std::to_string(shape.rows) + " cols " + std::to_string(shape.cols) + " tokens " +
         std::to_string(shape.tokens);
}

inline const int64_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 127, 128, 129, 769};

#define TRILITH_FOR_EVERY_SET(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Sets, suite, ::testing::ValuesIn(available_sets()), \
                           [](const auto& set_name) { return set_name.param; })

}  // namespace trilith::kernels
