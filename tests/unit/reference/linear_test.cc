#include "reference/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tiny_weights.h"

namespace trilith::reference {
namespace {

Matrix random_matrix(int64_t rows, int64_t cols, TestNumbers& numbers) {
  return to_matrix(rows, cols, numbers.floats(rows * cols));
}

// Widths around the tile of 16 outputs.
class LinearWidths : public testing::TestWithParam<int64_t> {};

TEST_P(LinearWidths, DenseIsTheSumInAscendingOrder) {
  TestNumbers numbers(1);
  ThreadPool pool(1);
  model::Linear weights = dense_linear(GetParam(), 33, numbers);
  weights.bias = numbers.floats(GetParam());
  const Matrix x = random_matrix(3, 33, numbers);
  const auto& w = std::get<model::DenseMatrix>(weights.weight).values;
  for (const Mode mode : {Mode::kF32, Mode::kA8}) {  // dense weights take x as it is
    const LinearOutput y = linear(weights, x, mode, pool);
    EXPECT_FALSE(y.input.has_value());
    for (int64_t t = 0; t < 3; ++t) {
      for (int64_t n = 0; n < GetParam(); ++n) {
        double sum = 0;
        for (int64_t k = 0; k < 33; ++k) {
          sum += x.row(t)[k] * static_cast<double>(w[static_cast<size_t>(n * 33 + k)]);
        }
        EXPECT_EQ(y.value.row(t)[n],
                  sum + static_cast<double>(weights.bias[static_cast<size_t>(n)]));
      }
    }
  }
}

TEST_P(LinearWidths, QuantisedAccumulatorsAreExactIntegers) {
  TestNumbers numbers(2);
  ThreadPool pool(1);
  const model::Linear weights = ternary_linear(GetParam(), 50, numbers);
  const auto& matrix = std::get<packing::QuantMatrix>(weights.weight);
  const Matrix x = random_matrix(2, 50, numbers);
  for (const Mode mode : {Mode::kA8, Mode::kA16}) {
    const LinearOutput y = linear(weights, x, mode, pool);
    const QuantisedActivation expected = quantise(x, mode);
    ASSERT_TRUE(y.input.has_value());
    EXPECT_EQ(y.input->codes, expected.codes);
    for (int64_t t = 0; t < 2; ++t) {
      for (int64_t n = 0; n < GetParam(); ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < 50; ++k) {
          sum += int64_t{expected.codes[static_cast<size_t>(t * 50 + k)]} *
                 (int64_t{matrix.codes[static_cast<size_t>(n * 50 + k)]} - 1);
        }
        EXPECT_EQ(y.accumulators[static_cast<size_t>(t * GetParam() + n)], sum);
        const double value = static_cast<double>(sum) *
                             static_cast<double>(matrix.scales[static_cast<size_t>(n)]) /
                             expected.scales[static_cast<size_t>(t)];
        EXPECT_NEAR(y.value.row(t)[n], value, 1e-15 * 50);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, LinearWidths, testing::Values(1, 15, 16, 17, 48));

TEST(Linear, A16IsCloserToNoQuantisationThanA8) {
  TestNumbers numbers(3);
  ThreadPool pool(1);
  const model::Linear weights = ternary_linear(8, 64, numbers);
  const Matrix x = random_matrix(1, 64, numbers);
  const Matrix plain = linear(weights, x, Mode::kF32, pool).value;
  const auto worst = [&](Mode mode) {
    const Matrix y = linear(weights, x, mode, pool).value;
    double result = 0;
    for (size_t i = 0; i < y.values.size(); ++i) {
      result = std::max(result, std::fabs(y.values[i] - plain.values[i]));
    }
    return result;
  };
  // 64 inputs, each off by at most half a step of absmax/127, times a scale of at most 0.5.
  EXPECT_LE(worst(Mode::kA8), 64 * 0.5 / 127 * 0.5);
  EXPECT_GT(worst(Mode::kA8), 0);
  EXPECT_LE(worst(Mode::kA16), 64 * 0.5 / 32767 * 0.5);
  EXPECT_GT(worst(Mode::kA16), 0);
}

TEST(Linear, GroupScalesHaveNoSingleAccumulator) {
  TestNumbers numbers(4);
  ThreadPool pool(1);
  model::Linear weights = ternary_linear(3, 8, numbers);
  auto& matrix = std::get<packing::QuantMatrix>(weights.weight);
  matrix.scale.index = packing::Scale::Index::kRowGroup;
  matrix.scale.group = 4;
  matrix.scales = {1, 2, 3, 4, 5, 6};
  const Matrix x = random_matrix(1, 8, numbers);
  const LinearOutput y = linear(weights, x, Mode::kA8, pool);
  EXPECT_TRUE(y.accumulators.empty());
  const QuantisedActivation input = quantise(x, Mode::kA8);
  double sum = 0;
  for (size_t k = 0; k < 8; ++k) {
    const double level = static_cast<double>(matrix.codes[8 + k]) - 1;
    sum += input.codes[k] * level * (k < 4 ? 3 : 4);
  }
  EXPECT_NEAR(y.value.row(0)[1], sum / input.scales[0], 1e-13);
}

TEST(Linear, ThreadsDoNotMatter) {
  TestNumbers numbers(5);
  ThreadPool one(1);
  ThreadPool three(3);
  const model::Linear weights = ternary_linear(131, 70, numbers);
  const Matrix x = random_matrix(5, 70, numbers);
  EXPECT_EQ(linear(weights, x, Mode::kF32, one).value.values,
            linear(weights, x, Mode::kF32, three).value.values);
}

}  // namespace
}  // namespace trilith::reference
