#include "inspect/zero_code.h"

#include <gtest/gtest.h>

#include <random>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

TEST(ZeroCode, TheSingledOutFrequencyIsZero) {
  const ZeroCodeFinding finding = find_zero_code({340'000, 320'000, 340'500}, {});
  EXPECT_EQ(finding.zero, 1);
  EXPECT_GT(finding.lead, kDecisive);
}

TEST(ZeroCode, EqualFrequenciesDecideNothing) {
  const ZeroCodeFinding finding = find_zero_code({333'000, 333'300, 333'700}, {});
  EXPECT_LT(finding.lead, kDecisive);
}

// Trained matrices have a small mean; a million codes make it significant, but it must not decide.
TEST(ZeroCode, ASmallMeanIsNotTakenForAZero) {
  const ZeroCodeFinding finding = find_zero_code({3'340'000, 3'330'000, 3'310'000}, {});
  EXPECT_LT(finding.lead, kDecisive);
}

// All three codes equally frequent, but rows differ in magnitude.
TEST(ZeroCode, RowProfilesDecideWhereFrequenciesAreAlike) {
  std::mt19937 random(3);
  std::vector<std::array<uint32_t, 3>> rows;
  std::array<uint64_t, 3> counts{};
  for (int row = 0; row < 400; ++row) {
    const double zero_share = row % 2 == 0 ? 0.2 : 0.4667;
    std::discrete_distribution<int> code({(1 - zero_share) / 2, (1 - zero_share) / 2, zero_share});
    std::array<uint32_t, 3> row_counts{};
    for (int i = 0; i < 300; ++i) ++row_counts[static_cast<size_t>(code(random))];
    for (size_t i = 0; i < 3; ++i) counts[i] += row_counts[i];
    rows.push_back(row_counts);
  }
  ASSERT_LT(find_zero_code(counts, {}).lead, kDecisive);
  const ZeroCodeFinding finding = find_zero_code(counts, rows);
  EXPECT_EQ(finding.zero, 2);
  EXPECT_GT(finding.lead, kDecisive);
}

// Rows scaled by their own mean have a constant zero share; their means alone move the signs
// against each other. Read as magnitudes, that would make a sign code zero.
TEST(ZeroCode, RowMeansAreNotReadAsMagnitudes) {
  std::mt19937 random(4);
  std::vector<std::array<uint32_t, 3>> rows;
  std::array<uint64_t, 3> counts{};
  for (int row = 0; row < 400; ++row) {
    const double tilt = row % 2 == 0 ? 0.1 : -0.1;
    std::discrete_distribution<int> code({0.3333 + tilt, 0.3333 - tilt, 0.3333});
    std::array<uint32_t, 3> row_counts{};
    for (int i = 0; i < 300; ++i) ++row_counts[static_cast<size_t>(code(random))];
    for (size_t i = 0; i < 3; ++i) counts[i] += row_counts[i];
    rows.push_back(row_counts);
  }
  EXPECT_LT(find_zero_code(counts, rows).lead, kDecisive);
}

}  // namespace
}  // namespace trilith::inspect
