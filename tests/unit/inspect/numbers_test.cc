#include "inspect/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace trilith::inspect {
namespace {

TEST(Numbers, NatsFollowTheirDefinitions) {
  EXPECT_DOUBLE_EQ(correlation_nats(0.6, 100), -50 * std::log(0.64));
  EXPECT_EQ(correlation_nats(0, 100), 0);
  EXPECT_TRUE(std::isfinite(correlation_nats(1, 100)));
  EXPECT_DOUBLE_EQ(overdispersion_nats(2, 10), 5 * (1 - std::log(2.0)));
  EXPECT_EQ(overdispersion_nats(0.5, 10), 0);
}

TEST(Numbers, MedianOfOddAndEmpty) {
  EXPECT_EQ(median({5, 1, 9}), 5);
  EXPECT_EQ(median({}), 0);
}

TEST(Numbers, ShufflerKeepsTheValuesAndRepeats) {
  std::vector<double> a = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> b = a;
  Shuffler(7).shuffle(a);
  Shuffler(7).shuffle(b);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace trilith::inspect
