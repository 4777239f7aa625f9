// GGUF types as packings, on files of gguf-py and of ggml's forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "announce/announce.h"
#include "announce/open_readings.h"
#include "announce/verify.h"
#include "checkpoint/checkpoint.h"

namespace trilith::announce {
namespace {

checkpoint::Checkpoint open_case(const std::string& name) {
  return checkpoint::Checkpoint::open(std::string(TRILITH_SOURCE_DIR) + "/tests/zoo/" + name +
                                      "/documented")
      .value();
}

struct Typed {
  const char* name;
  int bits;
  int64_t block;
  const char* said;
};

TEST(Gguf, TypesAreReadAndTheBytesAgree) {
  const Typed cases[] = {
      {"gguf-q40", 4, 32, "Q4_0"},
      {"gguf-q80", 8, 32, "Q8_0"},
      {"gguf-mxfp4", 4, 32, "MXFP4"},
      {"gguf-tq10", 0, 256, "TQ1_0"},
      {"gguf-tq20", 2, 256, "TQ2_0"},
      {"gguf-fork-seq2-512-id41", 2, 512, "Q2_0C"},
      {"gguf-fork-ptq10-id143", 0, 128, "PTQ1_0"},
      {"gguf-fork-iq2bn-id135", 2, 64, "IQ2_BN"},
      {"gguf-q50", 5, 32, "Q5_0"},
      {"gguf-q4k", 4, 256, "Q4_K"},
      {"gguf-fork-iq1bn-id134", 0, 64, "IQ1_BN"},
      {"gguf-fork-q20-g128-legacy-id42", 2, 128, "Q2_0_G128"},
  };
  for (const Typed& typed : cases) {
    SCOPED_TRACE(typed.name);
    const auto checkpoint = open_case(typed.name);
    const Recognised announced = announce::announced(checkpoint, nullptr);
    ASSERT_TRUE(announced && announced->ok());
    ASSERT_GE((*announced)->claims.size(), 2U);
    for (const Claim& claim : (*announced)->claims) {
      EXPECT_EQ(claim.spec.bits, typed.bits);
      EXPECT_EQ(claim.spec.law.block_elements, typed.block);
      EXPECT_EQ(claim.statements.front().value, Json(typed.said));
      const auto verified = verify(claim);
      ASSERT_TRUE(verified.ok()) << verified.error().to_string();
      EXPECT_FALSE(verified->contradiction);
    }
  }
}

TEST(Gguf, UnknownTypesAreRefusedByName) {
  const auto checkpoint = open_case("refuse-gguf-unknown-type");
  const Recognised announced = announce::announced(checkpoint, nullptr);
  ASSERT_TRUE(announced && !announced->ok());
  EXPECT_EQ(announced->error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(announced->error().to_string(), testing::HasSubstr("213"));
}

// The three writers of I2_S use one id; all modules decide together which order it is.
TEST(Gguf, TheBytesSettleTheOrderOfI2S) {
  for (const auto& [name, four_rows] :
       {std::pair("gguf-fork-i2s-128", false), std::pair("gguf-fork-i2s-4row", true)}) {
    const auto checkpoint = open_case(name);
    const Recognised announced = announce::announced(checkpoint, nullptr);
    ASSERT_TRUE(announced && announced->ok());
    for (const Claim& claim : (*announced)->claims) {
      EXPECT_EQ(claim.spec.law.axis == packing::Axis::kFlat, four_rows) << name << claim.module;
      EXPECT_EQ(claim.statements.size(), 2U);
      EXPECT_TRUE(claim.rivals.empty());
    }
  }
}

// The same matrices in the order of the ARM build: nothing but the order of the columns differs.
TEST(Gguf, TheBytesSettleTheOrderOfTheArmBuild) {
  const auto checkpoint = open_case("gguf-fork-i2s-128");
  Recognised announced = announce::announced(checkpoint, nullptr);
  ASSERT_TRUE(announced && announced->ok());
  Announcement& announcement = **announced;
  std::vector<packing::StoredByRole> kept;
  for (Claim& claim : announcement.claims) {
    packing::PackingSpec arm = claim.spec;
    arm.law.block_elements = 64;
    arm.law.stride.value = 16;
    const auto matrix = packing::decode(claim.spec, claim.stored, claim.rows, claim.cols);
    ASSERT_TRUE(matrix.ok());
    kept.push_back(packing::encode(arm, *matrix).value());
    claim.stored.at("codes").bytes = kept.back().at("codes").bytes;
    claim.rivals = {{"arm", arm, claim.promises, true}};
  }
  settle_open_readings(Source(checkpoint, nullptr), announcement);
  for (const Claim& claim : announcement.claims) {
    EXPECT_EQ(claim.spec.law.block_elements, 64) << claim.module;
    EXPECT_TRUE(claim.rivals.empty());
  }
}

// Rows of one size of weights each: 8 rows with 0 to 7 zeros in 16 weights. Mixed, nothing is left.
TEST(Gguf, OverdispersionSeesRowsThatDiffer) {
  packing::QuantMatrix matrix;
  matrix.rows = 8;
  matrix.cols = 16;
  matrix.levels = {-1.0, 0.0, 1.0};
  for (int64_t n = 0; n < 8; ++n) {
    for (int64_t k = 0; k < 16; ++k) matrix.codes.push_back((k + n) % 8 < n ? 1 : 2);
  }
  const double ordered = overdispersion(matrix).nats;
  std::vector<uint8_t> mixed(matrix.codes.size());
  for (size_t i = 0; i < mixed.size(); ++i) mixed[i] = matrix.codes[i * 37 % mixed.size()];
  matrix.codes = mixed;
  EXPECT_GT(ordered, overdispersion(matrix).nats + 5);
}

// Columns with more zeros where the profile is small; shuffled by a fixed order, little is left.
TEST(Gguf, AlignmentSeesTheOrderOfColumns) {
  packing::QuantMatrix matrix;
  matrix.rows = 16;
  matrix.cols = 64;
  matrix.levels = {-1.0, 0.0, 1.0};
  std::vector<double> profile;
  for (int64_t k = 0; k < 64; ++k) profile.push_back(static_cast<double>(k * 29 % 64));
  for (int64_t n = 0; n < 16; ++n) {
    for (int64_t k = 0; k < 64; ++k) matrix.codes.push_back(k * 29 % 64 < 4 * n ? 1 : 2);
  }
  const double ordered = alignment(matrix, profile).nats;
  std::swap_ranges(profile.begin(), profile.begin() + 32, profile.begin() + 32);
  EXPECT_GT(ordered, alignment(matrix, profile).nats + 20);
}

}  // namespace
}  // namespace trilith::announce
