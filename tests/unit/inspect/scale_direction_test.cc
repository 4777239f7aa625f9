#include "inspect/scale_direction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

TEST(ScaleDirection, SmallScalesMultiplyAndLargeOnesDivide) {
  const std::vector<float> small(64, 0.02F);
  const std::vector<float> large(64, 50.0F);
  const ScaleDirection a = judge_direction(small, 0.7, 1024);
  const ScaleDirection b = judge_direction(large, 0.7, 1024);
  EXPECT_GT(a.nats_multiply - a.nats_divide, kDecisive);
  EXPECT_GT(b.nats_divide - b.nats_multiply, kDecisive);
  EXPECT_NEAR(a.gain_multiply, 0.02 * std::sqrt(0.7 * 1024), 1e-6);
}

TEST(ScaleDirection, NearOneNothingIsDecided) {
  const ScaleDirection direction = judge_direction(std::vector<float>{1.3F}, 0.65, 2560);
  EXPECT_LT(std::abs(direction.nats_multiply - direction.nats_divide), kDecisive);
}

TEST(ScaleDirection, NegativeNumbersAreExponents) {
  const ScaleDirection direction = judge_direction(std::vector<float>(64, -5.5F), 0.7, 1024);
  EXPECT_GT(direction.nats_power - direction.nats_multiply, kDecisive);
  EXPECT_GT(direction.nats_power - direction.nats_divide, kDecisive);
  const ScaleDirection positive = judge_direction(std::vector<float>(64, 0.02F), 0.7, 1024);
  EXPECT_LT(positive.nats_power, positive.nats_multiply);
}

TEST(ScaleDirection, InfinityZeroAndMixedSignsAreNoScales) {
  EXPECT_TRUE(can_be_scales(std::vector<float>{0.1F, 0.2F}));
  EXPECT_TRUE(can_be_scales(std::vector<float>{-0.1F, -0.2F}));
  EXPECT_FALSE(can_be_scales(std::vector<float>{0.1F, -0.2F}));
  EXPECT_FALSE(can_be_scales(std::vector<float>{0.1F, 0.0F}));
  EXPECT_FALSE(can_be_scales(std::vector<float>{std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(can_be_scales(std::vector<float>{}));
}

}  // namespace
}  // namespace trilith::inspect
