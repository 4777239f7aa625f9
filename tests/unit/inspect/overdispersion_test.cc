#include "inspect/overdispersion.h"

#include <gtest/gtest.h>

#include "synthetic.h"

namespace trilith::inspect {
namespace {

std::vector<uint8_t> nonzeros(const testing::Ternary& matrix) {
  std::vector<uint8_t> result;
  for (const int8_t level : matrix.levels) result.push_back(level != 0);
  return result;
}

TEST(Overdispersion, RandomBitsHaveTheBinomialVariance) {
  std::mt19937_64 random(5);
  std::vector<uint8_t> bits(256 * 512);
  for (uint8_t& bit : bits) bit = random() % 3 != 0;
  const Dispersion dispersion = measure_dispersion(bits, 256, 512);
  EXPECT_NEAR(dispersion.row_ratio, 1, 0.35);  // 4 standard errors: 4·sqrt(2/255)
  EXPECT_NEAR(dispersion.col_ratio, 1, 0.25);
}

TEST(Overdispersion, TheWrongAxisShredsColumns) {
  std::mt19937_64 random(6);
  const auto matrix =
      testing::ternary(random, testing::strengths(random, 128), testing::strengths(random, 256));
  const std::vector<uint8_t> right = nonzeros(matrix);
  // Neighbours along K taken for neighbours along N: four columns of a row become four rows.
  std::vector<uint8_t> wrong(right.size());
  for (size_t n = 0; n < 128; ++n) {
    for (size_t k = 0; k < 256; ++k) {
      const size_t flat = n * 256 + k;
      const size_t byte = flat / 4;
      wrong[(byte / 256 * 4 + flat % 4) * 256 + byte % 256] = right[flat];
    }
  }
  EXPECT_GT(measure_dispersion(right, 128, 256).nats,
            measure_dispersion(wrong, 128, 256).nats + 10);
}

TEST(Overdispersion, OrdersInsideRowsDoNotMatter) {
  std::mt19937_64 random(7);
  const auto matrix =
      testing::ternary(random, testing::strengths(random, 64), testing::strengths(random, 128));
  const std::vector<uint8_t> right = nonzeros(matrix);
  std::vector<uint8_t> reversed(right.size());
  for (size_t i = 0; i < right.size(); ++i) reversed[i] = right[i / 4 * 4 + 3 - i % 4];
  EXPECT_NEAR(measure_dispersion(right, 64, 128).nats, measure_dispersion(reversed, 64, 128).nats,
              1e-6);
}

// Runs of 32 that differ by their scales: whole rows of them or halves of rows, no shape is
// favoured.
TEST(Overdispersion, ScaleGroupsFavourNoShape) {
  std::mt19937_64 random(8);
  std::vector<uint8_t> marked;
  std::uniform_real_distribution<double> uniform;
  for (size_t group = 0; group < 128; ++group) {
    const double share = 0.2 + 0.6 * uniform(random);
    for (size_t k = 0; k < 32; ++k) marked.push_back(uniform(random) < share ? 1 : 0);
  }
  const double as_rows = measure_dispersion(marked, 128, 32, 32).nats;
  const double as_halves = measure_dispersion(marked, 64, 64, 32).nats;
  EXPECT_GT(as_rows, 20);
  EXPECT_NEAR(as_rows, as_halves, 8);
  EXPECT_LT(measure_dispersion(marked, 64, 64).nats, as_rows - 8);  // whole rows favour the former
}

}  // namespace
}  // namespace trilith::inspect
