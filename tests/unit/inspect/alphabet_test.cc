#include "inspect/alphabet.h"

#include <gtest/gtest.h>

#include <random>

namespace trilith::inspect {
namespace {

// Bytes whose four fields are drawn from `weights` over the codes 0 … 3.
ByteHistogram two_bit_bytes(std::vector<double> weights, int count = 20000) {
  std::mt19937 random(1);
  std::discrete_distribution<int> code(weights.begin(), weights.end());
  ByteHistogram bytes{};
  for (int i = 0; i < count; ++i) {
    int byte = 0;
    for (int field = 0; field < 4; ++field) byte |= code(random) << (2 * field);
    ++bytes[static_cast<size_t>(byte)];
  }
  return bytes;
}

TEST(Alphabet, CountsFieldsDigitsAndBytes) {
  ByteHistogram bytes{};
  bytes[0b01'10'00'01] = 2;
  EXPECT_EQ(count_codes(bytes, Cell::kTwoBits).counts, (std::vector<uint64_t>{2, 4, 2, 0}));
  ByteHistogram digits{};
  digits[1 + 2 * 3 + 0 * 9 + 2 * 27 + 1 * 81] = 1;
  digits[243] = 5;
  const Alphabet base3 = count_codes(digits, Cell::kBase3Plain);
  EXPECT_EQ(base3.counts, (std::vector<uint64_t>{1, 2, 2}));
  EXPECT_EQ(base3.impossible, 5U);
  EXPECT_EQ(count_codes(bytes, Cell::kWholeByte).used(), (std::vector<int>{0b01'10'00'01}));
}

TEST(Alphabet, ScaledBase3BytesAreTheCeilings) {
  ByteHistogram bytes{};
  int possible = 0;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.fill(0);
    bytes[static_cast<size_t>(byte)] = 1;
    possible += count_codes(bytes, Cell::kBase3Ceil256).impossible == 0 ? 1 : 0;
  }
  EXPECT_EQ(possible, 243);
  bytes.fill(0);
  bytes[255] = 1;  // 242 = 22222 in base 3
  EXPECT_EQ(count_codes(bytes, Cell::kBase3Ceil256).counts, (std::vector<uint64_t>{0, 0, 5}));
}

TEST(Alphabet, ThreeOfFourCodesAreTernary) {
  const TernaryVerdict verdict =
      judge_ternary(count_codes(two_bit_bytes({0.3, 0.35, 0, 0.35}), Cell::kTwoBits));
  EXPECT_TRUE(verdict.ternary);
  EXPECT_EQ(verdict.codes, (std::vector<int>{0, 1, 3}));
}

TEST(Alphabet, FourCodesAreNot) {
  const TernaryVerdict verdict =
      judge_ternary(count_codes(two_bit_bytes({0.25, 0.25, 0.25, 0.25}), Cell::kTwoBits));
  EXPECT_FALSE(verdict.ternary);
  EXPECT_FALSE(verdict.damaged);
  EXPECT_FALSE(verdict.reason.empty());
}

TEST(Alphabet, AFewStrayCodesAreDamageNotAFourthLevel) {
  ByteHistogram bytes = two_bit_bytes({0.3, 0.35, 0.35, 0});
  bytes[0b00'00'11'00] += 3;
  const TernaryVerdict verdict = judge_ternary(count_codes(bytes, Cell::kTwoBits));
  EXPECT_FALSE(verdict.ternary);
  EXPECT_TRUE(verdict.damaged);
  EXPECT_EQ(verdict.stray, 3U);
}

TEST(Alphabet, ConstantsAreNotTernary) {
  ByteHistogram bytes{};
  bytes[0x55] = 1000;
  EXPECT_FALSE(judge_ternary(count_codes(bytes, Cell::kTwoBits)).ternary);
}

TEST(Alphabet, RoundedGaussiansAreBellShaped) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal(0, 40);
  ByteHistogram twos{};
  ByteHistogram offset{};
  ByteHistogram flat{};
  for (int i = 0; i < 20000; ++i) {
    const int value = static_cast<int>(std::clamp(std::round(normal(random)), -127.0, 127.0));
    ++twos[static_cast<uint8_t>(value)];
    ++offset[static_cast<uint8_t>(value + 128)];
    ++flat[static_cast<size_t>(random() % 256)];
  }
  EXPECT_TRUE(judge_bell(twos).bell);
  EXPECT_EQ(judge_bell(twos).centre, 0);
  EXPECT_TRUE(judge_bell(offset).bell);
  EXPECT_EQ(judge_bell(offset).centre, 128);
  EXPECT_FALSE(judge_bell(flat).bell);
  // Magnitudes alone fall off as well, but weights have two signs.
  ByteHistogram magnitudes{};
  for (int byte = 0; byte < 128; ++byte) {
    magnitudes[static_cast<size_t>(byte)] =
        twos[static_cast<size_t>(byte)] + twos[static_cast<size_t>((256 - byte) % 256)];
  }
  EXPECT_FALSE(judge_bell(magnitudes).bell);
}

TEST(Alphabet, EntropyOfOneAndOfAllBytes) {
  ByteHistogram bytes{};
  bytes[7] = 10;
  EXPECT_EQ(byte_entropy(bytes), 0);
  bytes.fill(3);
  EXPECT_DOUBLE_EQ(byte_entropy(bytes), 8);
}

}  // namespace
}  // namespace trilith::inspect
