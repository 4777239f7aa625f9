#include "inspect/zero_blocks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/splitmix.h"

namespace trilith::inspect {
namespace {

// Codes 0, 1, 2 for -1, 0, +1; a third of each.
packing::QuantMatrix ternary(int64_t rows, int64_t cols) {
  packing::QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.levels = {-1.0, 0.0, 1.0, std::nullopt};
  SplitMix64 random(1);
  for (int64_t i = 0; i < rows * cols; ++i) {
    matrix.codes.push_back(static_cast<uint8_t>(random.below(3)));
  }
  return matrix;
}

void clear(packing::QuantMatrix& matrix, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  for (int64_t n = row; n < row + rows; ++n) {
    for (int64_t k = col; k < col + cols; ++k) {
      matrix.codes[static_cast<size_t>(n * matrix.cols + k)] = 1;
    }
  }
}

TEST(ZeroBlocks, CountsWholeBlocksOnTheirGrid) {
  packing::QuantMatrix matrix = ternary(10, 70);
  EXPECT_EQ(count_zero_blocks(matrix)->count, 2U * 4U);  // what is left over is no block
  EXPECT_EQ(count_zero_blocks(matrix)->zero, 0U);
  clear(matrix, 4, 16, 4, 16);
  EXPECT_EQ(count_zero_blocks(matrix)->zero, 1U);
  matrix.codes[static_cast<size_t>(7 * 70 + 31)] = 2;  // the last weight of the block
  EXPECT_EQ(count_zero_blocks(matrix)->zero, 0U);
  clear(matrix, 2, 40, 4, 16);  // as large, but off the grid
  EXPECT_EQ(count_zero_blocks(matrix)->zero, 0U);
}

TEST(ZeroBlocks, ExpectsWhatScatteredZerosOfTheRowsGive) {
  packing::QuantMatrix matrix = ternary(8, 64);
  clear(matrix, 0, 0, 4, 64);  // rows without a weight are expected to be blocks
  const ZeroBlocks blocks = *count_zero_blocks(matrix);
  EXPECT_EQ(blocks.zero, 4U);
  EXPECT_NEAR(blocks.expected, 4, 1e-6);
  EXPECT_NEAR(blocks.share(), 0.5, 1e-12);
  EXPECT_EQ(judge_sparse_skip(blocks).verdict, "not_measured");
}

TEST(ZeroBlocks, TheVerdictFollowsTheShareOfBlocks) {
  EXPECT_EQ(judge_sparse_skip({0, 1000, 0}).verdict, "not_worth_it");
  EXPECT_EQ(judge_sparse_skip({3, 1000, 0}).verdict, "not_worth_it");
  EXPECT_EQ(judge_sparse_skip({4, 1000, 0}).verdict, "not_measured");
}

TEST(ZeroBlocks, ZeroPointsLeaveNoOneZero) {
  packing::QuantMatrix matrix = ternary(8, 64);
  matrix.zeros = {1};
  EXPECT_FALSE(count_zero_blocks(matrix).has_value());
}

}  // namespace
}  // namespace trilith::inspect
