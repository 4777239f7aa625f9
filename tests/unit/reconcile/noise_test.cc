#include "reconcile/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"

namespace trilith::reconcile {
namespace {

using reference::Matrix;

Matrix filled(int64_t rows, int64_t cols, double value) {
  Matrix matrix(rows, cols);
  std::fill(matrix.values.begin(), matrix.values.end(), value);
  return matrix;
}

TEST(UnitRoundoff, IsThatOfTheNarrowestTypeThatHoldsTheValues) {
  const std::vector<float> thirds = {1.0F / 3, 2.0F / 3, 5.1F};
  EXPECT_EQ(unit_roundoff(thirds), 0x1p-24);
  std::vector<float> half, brain;
  for (const float value : thirds) {
    half.push_back(f32_from_f16(f16_from_f32(value)));
    brain.push_back(f32_from_bf16(bf16_from_f32(value)));
  }
  EXPECT_EQ(unit_roundoff(half), 0x1p-11);
  EXPECT_EQ(unit_roundoff(brain), 0x1p-8);
}

TEST(Jitter, MovesEveryValueByTheUnitAndIsRepeatable) {
  const Matrix values = filled(8, 32, 3.0);
  const Matrix moved = jittered(values, 1e-3, 7);
  int up = 0;
  for (const double value : moved.values) {
    EXPECT_NEAR(std::fabs(value - 3.0), 3e-3, 1e-12);
    up += value > 3.0 ? 1 : 0;
  }
  EXPECT_GT(up, 96);  // 128 ± 4 standard deviations of 8
  EXPECT_LT(up, 160);
  EXPECT_EQ(jittered(values, 1e-3, 7).values, moved.values);
  EXPECT_NE(jittered(values, 1e-3, 8).values, moved.values);
}

TEST(FloorRatio, EvenErrorIsItsPlainRatio) {
  EXPECT_NEAR(floor_ratio(filled(16, 64, 3e-6), filled(16, 64, 1e-6)), 3, 1e-9);
  EXPECT_EQ(floor_ratio(filled(4, 4, 0), filled(4, 4, 0)), 0);
  EXPECT_TRUE(std::isinf(floor_ratio(filled(4, 4, 1e-30), filled(4, 4, 0))));
}

TEST(FloorRatio, OneWrongChannelCountsAsMuchAsItIsWrong) {
  Matrix error = filled(16, 256, 1e-6);
  for (int64_t row = 0; row < 16; ++row) error.row(row)[9] = 1e-3;
  EXPECT_NEAR(floor_ratio(error, filled(16, 256, 1e-6)), 1000, 1);
}

TEST(FloorRatio, AQuietChannelDoesNotCryWolf) {
  Matrix floor = filled(16, 256, 1e-6);
  for (int64_t row = 0; row < 16; ++row) floor.row(row)[9] = 1e-12;
  EXPECT_LT(floor_ratio(filled(16, 256, 1e-6), floor), 1.01);
}

}  // namespace
}  // namespace trilith::reconcile
