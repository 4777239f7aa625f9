// verify: damaged bytes and false claims, each caught by the test that is meant to catch it.
#include "announce/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "zoo_case.h"

namespace trilith::announce {
namespace {

using testing::HasSubstr;

// The first contradiction among the modules of a case; empty when there is none.
struct Outcome {
  std::string text;
  std::string better;
};
Outcome outcome_of(ZooCase& zoo) {
  const Recognised announced = zoo.announced();
  if (!announced || !announced->ok()) {
    ADD_FAILURE() << (announced ? announced->error().to_string() : "nothing announced");
    return {};
  }
  for (const Claim& claim : (*announced)->claims) {
    const auto verified = verify(claim);
    if (!verified.ok()) return {verified.error().to_string(), ""};
    if (!verified->contradiction) continue;
    return {verified->contradiction->to_string(),
            verified->better ? claim.rivals[*verified->better].name : ""};
  }
  return {};
}

TEST(Verify, SymmetricZeroPointsSettleTheGptqVersion) {
  ZooCase v1("autogptq-4bit-g64");
  v1.say("checkpoint_format", "gptq_v2");
  const Outcome as_v2 = outcome_of(v1);
  EXPECT_THAT(as_v2.text, HasSubstr("one zero point (expected 8; found 7 to 7"));
  EXPECT_THAT(as_v2.better, HasSubstr("GPTQ v1"));
  ZooCase v2("gptqmodel-v2-8bit-g64");
  v2.say("checkpoint_format", "gptq");
  const Outcome as_v1 = outcome_of(v2);
  EXPECT_THAT(as_v1.text, HasSubstr("expected 128; found 129"));
  EXPECT_THAT(as_v1.better, HasSubstr("GPTQ v2"));
}

TEST(Verify, CentringSettlesTheGptqVersionOfAsymmetricCodes) {
  ZooCase zoo("autogptq-4bit-asym-g64");
  zoo.say("checkpoint_format", "gptq_v2");
  const Outcome outcome = outcome_of(zoo);
  EXPECT_THAT(outcome.text, HasSubstr("not centred"));
  EXPECT_THAT(outcome.better, HasSubstr("GPTQ v1"));
}

TEST(Verify, BitnetScalesInTheWrongDirection) {
  ZooCase inverse("transformers-bitnet-bitlinear-inverse");
  inverse.say("linear_class", "autobitlinear");
  const Outcome outcome = outcome_of(inverse);
  EXPECT_THAT(outcome.text, HasSubstr("other direction"));
  EXPECT_THAT(outcome.better, HasSubstr("divides"));
  ZooCase direct("transformers-bitnet-autobitlinear");
  direct.say("linear_class", "bitlinear");
  EXPECT_THAT(outcome_of(direct).better, HasSubstr("multiplies"));
}

TEST(Verify, ScalesOfTheWrongSignOrNotFinite) {
  ZooCase negative("autogptq-4bit-g64");
  negative.tensor("q_proj.scales").bytes[11] |= std::byte{0x80};
  EXPECT_THAT(outcome_of(negative).text, HasSubstr("1 negative and 0 zero of 128"));
  ZooCase infinite("autogptq-4bit-g64");
  StoredCopy& scales = infinite.tensor("q_proj.scales");
  scales.bytes[11] = std::byte{0x7C};
  scales.bytes[10] = std::byte{0};
  EXPECT_THAT(outcome_of(infinite).text, HasSubstr("not finite"));
}

TEST(Verify, RandomBytesInPlaceOfCodes) {
  std::mt19937_64 random(7);
  ZooCase whole("autogptq-4bit-g64");
  for (std::byte& byte : whole.tensor("q_proj.qweight").bytes) {
    byte = static_cast<std::byte>(random() & 255);
  }
  EXPECT_THAT(outcome_of(whole).text, HasSubstr("spread evenly, as random bytes are"));
  ZooCase page("autogptq-4bit-g64");
  StoredCopy& codes = page.tensor("down_proj.qweight");
  for (size_t i = 4096; i < 8192; ++i) codes.bytes[i] = static_cast<std::byte>(random() & 255);
  EXPECT_THAT(outcome_of(page).text,
              HasSubstr("2 of 8 pages spread evenly, the first at byte 4096"));
}

TEST(Verify, PaddingThatIsNoPadding) {
  ZooCase zoo("transformers-bitnet-odd-rows");
  StoredCopy& codes = zoo.tensor("q_proj.weight");  // 90 rows in 23 · 4: the last two are padding
  EXPECT_EQ(codes.bytes.back() >> 6, std::byte{0});
  codes.bytes.back() |= std::byte{0x40};
  EXPECT_THAT(outcome_of(zoo).text, HasSubstr("unused slots are not padding"));
}

TEST(Verify, CodesBeyondTheAnnouncedRange) {
  ZooCase zoo("torchao-intx-unpacked-int3");
  zoo.tensor("q_proj._weight_qdata").bytes[5] = std::byte{4};
  EXPECT_THAT(outcome_of(zoo).text, HasSubstr("exceed the announced bits (expected 3 bits"));
}

TEST(Verify, WeightsFarToOneSide) {
  ZooCase zoo("compressed-tensors-w4a16-channel");
  for (std::byte& byte : zoo.tensor("q_proj.weight_packed").bytes) byte |= std::byte{0x88};
  EXPECT_THAT(outcome_of(zoo).text, HasSubstr("not centred"));
}

}  // namespace
}  // namespace trilith::announce
