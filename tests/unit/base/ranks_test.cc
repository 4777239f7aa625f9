#include "base/ranks.h"

#include <gtest/gtest.h>

#include <vector>

namespace trilith {
namespace {

TEST(Ranks, TiesShareTheirMeanRank) {
  EXPECT_EQ(ranks(std::vector<double>{3, 1, 3, 2}), (std::vector<double>{2.5, 0, 2.5, 1}));
}

TEST(Ranks, RankCorrelationIsSpearmans) {
  // By hand: ranks 0 1 2 3 4 against 1 0 3 2 4, sum of squared differences 4, 1 - 6·4/(5·24).
  EXPECT_DOUBLE_EQ(
      rank_correlation(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{20, 10, 40, 30, 50}),
      0.8);
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{9, 8, 7}),
                   -1);
  EXPECT_EQ(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{5, 5, 5}), 0);
}

}  // namespace
}  // namespace trilith
