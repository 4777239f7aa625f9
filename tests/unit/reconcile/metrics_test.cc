// Each measure sees its own kind of fault, and none of them calls a NaN agreement.
#include "reconcile/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trilith::reconcile {
namespace {

std::vector<float> ramp(int64_t rows, int64_t cols) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * cols; ++i) {
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i) * 0.7) + 1.5));
  }
  return values;
}

TEST(Metrics, EqualMatricesAgreeInEverything) {
  const auto r = ramp(4, 8);
  const Difference d = compare(4, 8, r, r);
  EXPECT_EQ(d.rel_l2, 0);
  EXPECT_DOUBLE_EQ(d.cos, 1);
  EXPECT_EQ(d.bit_equal, 1);
  EXPECT_TRUE(d.classic_pass);
  EXPECT_EQ(d.worst_channel_rel, 0);
}

TEST(Metrics, AScaleIsInvisibleToTheCosineButNotToAlpha) {
  const auto r = ramp(4, 8);
  auto y = r;
  for (float& v : y) v *= 1.05F;
  const Difference d = compare(4, 8, r, y);
  EXPECT_NEAR(d.cos, 1, 1e-12);
  EXPECT_NEAR(d.alpha, 1.05, 1e-6);
  EXPECT_NEAR(d.rel_l2, 0.05, 1e-6);
  EXPECT_NEAR(d.signed_bias, 1, 1e-12);  // all errors point away from zero
}

TEST(Metrics, OneWrongChannelIsNamed) {
  const auto r = ramp(64, 256);
  auto y = r;
  for (int64_t row = 0; row < 64; ++row) y[static_cast<size_t>(row * 256 + 37)] *= 1.01F;
  const Difference d = compare(64, 256, r, y);
  EXPECT_LT(d.rel_l2, 1e-3);
  EXPECT_EQ(d.worst_channel, 37);
  EXPECT_NEAR(d.worst_channel_rel, 0.01, 1e-5);
}

TEST(Metrics, OneWrongTokenIsNamed) {
  const auto r = ramp(64, 16);
  auto y = r;
  for (int64_t col = 0; col < 16; ++col) y[static_cast<size_t>(63 * 16 + col)] += 1;
  const Difference d = compare(64, 16, r, y);
  EXPECT_EQ(d.worst_token, 63);
  EXPECT_EQ(d.max_row, 63);
  EXPECT_FALSE(d.classic_pass);
}

TEST(Metrics, NonFiniteValuesNeverAgreeByAccident) {
  const auto r = ramp(2, 2);
  auto y = r;
  y[1] = std::numeric_limits<float>::quiet_NaN();
  const Difference d = compare(2, 2, r, y);
  EXPECT_EQ(d.nonfinite, 1);
  EXPECT_FALSE(d.classic_pass);
  const Difference both = compare(2, 2, y, y);
  EXPECT_EQ(both.nonfinite, 0);  // the same NaN in the same place is the same answer
}

TEST(Metrics, AZeroChannelThatIsNotZeroIsInfinitelyWrong) {
  const std::vector<float> r = {1, 0, 1, 0};
  const std::vector<float> y = {1, 1e-9F, 1, 0};
  const Difference d = compare(2, 2, r, y);
  EXPECT_EQ(d.worst_channel, 1);
  EXPECT_TRUE(std::isinf(d.worst_channel_rel));
}

TEST(Metrics, EmptyMatricesCompareToNothing) {
  const Difference d = compare(0, 8, {}, {});
  EXPECT_EQ(d.count(), 0);
  EXPECT_EQ(d.rel_l2, 0);
}

}  // namespace
}  // namespace trilith::reconcile
