#include "inspect/alignment.h"

#include <gtest/gtest.h>

#include "inspect/profiles.h"
#include "synthetic.h"

namespace trilith::inspect {
namespace {

using testing::strengths;
using testing::ternary;

Profiles profile_of(const testing::Ternary& matrix, size_t reversed_block = 1) {
  std::vector<uint8_t> codes;
  for (size_t i = 0; i < matrix.levels.size(); ++i) {
    const size_t from =
        i / reversed_block * reversed_block + (reversed_block - 1 - i % reversed_block);
    codes.push_back(static_cast<uint8_t>(matrix.levels[from] + 1));
  }
  const std::vector<double> scales(matrix.scales.begin(), matrix.scales.end());
  return profile(codes, matrix.rows, matrix.cols, std::vector<double>{1, 0, 1}, scales);
}

TEST(Alignment, TheRightOrderAlignsWithASharedIndexSpace) {
  std::mt19937_64 random(8);
  const std::vector<double> channels = strengths(random, 256);
  const auto matrix = ternary(random, strengths(random, 128), channels);
  const auto right =
      measure_alignment({{"columns / norm", profile_of(matrix).col_energy, channels}}, 999);
  const auto wrong =
      measure_alignment({{"columns / norm", profile_of(matrix, 4).col_energy, channels}}, 999);
  EXPECT_EQ(right.p_value, 0.001);
  EXPECT_GT(right.nats, wrong.nats + 20);
  EXPECT_GT(wrong.p_value, 0.01);
}

TEST(Alignment, PValuesOfUnrelatedProfilesAreUniform) {
  std::mt19937_64 random(9);
  int small = 0;
  for (int round = 0; round < 200; ++round) {
    const auto found = measure_alignment({{"", strengths(random, 64), strengths(random, 64)}}, 99);
    small += found.p_value <= 0.1 ? 1 : 0;
  }
  EXPECT_NEAR(small, 20, 4 * std::sqrt(200 * 0.1 * 0.9));
}

TEST(Alignment, UntestedPairsDoNotEnterThePValue) {
  std::mt19937_64 random(10);
  const std::vector<double> shared = strengths(random, 64);
  ProfilePair fixed{"rows / scales", shared, shared, {}, false};
  ProfilePair tested{"columns / norm", strengths(random, 64), strengths(random, 64), {}, true};
  EXPECT_GT(measure_alignment({fixed, tested}, 999).p_value, 0.01);
}

TEST(Alignment, ScalesThatStayInPlaceConfirmNoOrder) {
  std::mt19937_64 random(12);
  const std::vector<double> shared = strengths(random, 64);
  // The partner goes with the scales; the codes have nothing to say.
  ProfilePair scaled{"rows / norm", strengths(random, 64), shared, shared, true};
  EXPECT_GT(measure_alignment({scaled}, 999).p_value, 0.01);
}

TEST(Alignment, PartnersOfOneProfileCountOnce) {
  std::mt19937_64 random(13);
  const std::vector<double> shared = strengths(random, 64);
  const ProfilePair one{"columns / norm", shared, shared, {}, true};
  ProfilePair again = one;
  again.repeats = true;
  const Alignment alone = measure_alignment({one}, 99);
  const Alignment thrice = measure_alignment({one, again, again}, 99);
  EXPECT_GT(alone.nats, 100);
  EXPECT_LE(thrice.nats, alone.nats);
  EXPECT_EQ(thrice.kinds.at("columns / norm").pairs, 3);
}

TEST(Alignment, StrengthsThatGoAgainstEachOtherCountAsWell) {
  std::mt19937_64 random(14);
  const std::vector<double> shared = strengths(random, 64);
  std::vector<double> inverse;
  for (const double value : shared) inverse.push_back(1 / value);
  EXPECT_GT(measure_alignment({{"columns / rows", shared, inverse}}, 0).nats, 50);
}

TEST(Alignment, ConstantProfilesSayNothing) {
  const std::vector<double> ones(64, 1.0);
  const Alignment found = measure_alignment({{"columns / norm", ones, ones}}, 99);
  EXPECT_TRUE(found.kinds.empty());
  EXPECT_EQ(found.p_value, 1);
}

TEST(Profiles, PairsFollowTheRoles) {
  using model::Role;
  std::mt19937_64 random(11);
  const auto module = [&](Role role, int64_t layer, size_t rows, size_t cols) {
    ProfiledModule result;
    result.id = model::ModuleId{role, layer};
    result.rows = static_cast<int64_t>(rows);
    result.cols = static_cast<int64_t>(cols);
    result.profiles = {strengths(random, rows), strengths(random, rows), strengths(random, cols)};
    result.row_scale = strengths(random, rows);
    return result;
  };
  const std::vector<ProfiledModule> modules = {
      module(Role::kUpProj, 0, 96, 64), module(Role::kDownProj, 0, 64, 96),
      module(Role::kDownProj, 1, 64, 96), module(Role::kVProj, 0, 32, 64),
      module(Role::kOProj, 0, 64, 64)};
  const std::vector<ProfiledPlain> plain = {
      {model::ModuleId{Role::kPostNorm, 0}, strengths(random, 64)}};
  int ffn = 0;
  int value = 0;
  int norm = 0;
  for (const ProfilePair& pair : pair_profiles(modules, plain, {2, 16}, packing::Axis::kK)) {
    if (pair.what == "columns of down_proj / rows of up_proj") ++ffn;
    if (pair.what == "columns of o_proj / rows of v_proj") ++value;
    if (pair.what == "columns of up_proj / post_norm") ++norm;
    if (pair.what == "rows of a module / their scales") {
      EXPECT_FALSE(pair.tested);
    }
    EXPECT_NE(pair.what, "columns of v_proj / post_norm");
  }
  EXPECT_EQ(ffn, 1);  // of the same layer only
  EXPECT_EQ(value, 1);
  EXPECT_EQ(norm, 1);
}

}  // namespace
}  // namespace trilith::inspect
