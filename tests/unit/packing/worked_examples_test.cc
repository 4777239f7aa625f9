// Published worked examples: sixteen weights and the bytes that each writer makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matrices.h"
#include "packing/catalogue.h"

namespace trilith::packing {
namespace {

using testing::hex;
using testing::matrix_of;
using testing::Tensors;

const std::vector<int> kW16 = {+1, -1, 0, 0, +1, +1, -1, 0, 0, 0, -1, +1, -1, 0, +1, 0};

PackingSpec without_scale(PackingSpec spec) {
  spec.scale = Scale{};
  spec.scale.index = Scale::Index::kNone;
  return spec;
}

PackingSpec format(std::string_view name) {
  const CatalogueRow* const row = find_format(name);
  return row == nullptr ? PackingSpec{} : row->spec;
}

// Encodes, compares, and decodes what was encoded.
void expect_bytes(const PackingSpec& spec, int64_t rows, int64_t cols,
                  const std::vector<int>& levels, const std::string& bytes) {
  QuantMatrix matrix = matrix_of(spec, rows, cols, levels);
  ASSERT_EQ(matrix.codes.size(), levels.size()) << "a level is not in the table";
  auto stored = encode(spec, matrix);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  EXPECT_EQ(hex(stored->at("codes").bytes), bytes) << describe(spec);
  const Tensors tensors{*stored};
  const auto back = decode(spec, tensors.views(), rows, cols);
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  EXPECT_EQ(back->codes, matrix.codes);
}

TEST(WorkedExamples, NeighboursInAByte) {
  expect_bytes(without_scale(format("k4-low-m0p")), 1, 16, kW16, "52 4A 85 64");
  expect_bytes(without_scale(format("k4-low-offset2")), 1, 16, kW16, "A7 9F DA B9");
  expect_bytes(without_scale(format("k4-high-twos")), 1, 16, kW16, "70 5C 0D C4");
}

TEST(WorkedExamples, QuarterPlanes) {
  PackingSpec spec = without_scale(format("hf-bitnet"));
  expect_bytes(spec, 8, 2, kW16, "1A 58 81 65");
  expect_bytes(spec, 8, 2, {0, -1, -1, 1, -1, 1, -1, 1, 1, 0, 0, -1, 1, -1, 1, -1}, "A1 18 90 0A");
  spec.law.slot_order = SlotOrder::kHighFirst;  // HQQ
  expect_bytes(spec, 8, 2, kW16, "A4 25 42 59");
}

TEST(WorkedExamples, Base3) {
  expect_bytes(without_scale(format("base3")), 1, 16, kW16, "C8 77 C3 01");
  PackingSpec fraction = without_scale(format("base3"));
  fraction.digits = {Digits::Order::kMsbFirst, Digits::Map::kCeil256, 0};
  expect_bytes(fraction, 1, 5, {+1, -1, 0, 0, +1}, "BA");
  fraction.law.slots = 4;
  expect_bytes(fraction, 1, 4, {+1, -1, 0, 0}, "B8");
  fraction.law.slots = 5;
  fraction.digits.order = Digits::Order::kLsbFirst;
  expect_bytes(fraction, 1, 5, {+1, -1, 0, 0, +1}, "D3");
}

TEST(WorkedExamples, WordsOf32Bits) {
  PackingSpec spec = without_scale(format("k4-low-offset2"));
  spec.container = DType::kI32;
  spec.law.word_bits = 32;
  spec.law.slots = 16;
  expect_bytes(spec, 1, 16, kW16, "A7 9F DA B9");
  spec.law.byte_order = ByteOrder::kBig;
  expect_bytes(spec, 1, 16, kW16, "B9 DA 9F A7");

  spec.law.byte_order = ByteOrder::kLittle;
  spec.bits = 4;
  spec.law.slots = 8;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  expect_bytes(spec, 1, 8, {0, 1, 2, 3, 4, 5, 6, 7}, "10 32 54 76");
  spec.law.slot_order = SlotOrder::kExplicit;
  spec.law.explicit_order = {0, 4, 1, 5, 2, 6, 3, 7};  // AWQ
  expect_bytes(spec, 1, 8, {0, 1, 2, 3, 4, 5, 6, 7}, "20 64 31 75");
}

TEST(WorkedExamples, DenseThreeBitStream) {
  PackingSpec spec = without_scale(format("k4-low-offset2"));
  spec.bits = 3;
  spec.container = DType::kI32;
  spec.law = Law{};
  spec.law.word_bits = 32;
  spec.law.bitstream = Bitstream::kLsbFirst;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  std::vector<int> levels;
  for (int i = 0; i < 32; ++i) levels.push_back(i % 8);
  expect_bytes(spec, 1, 32, levels, "88 C6 FA 88 C6 FA 88 C6 FA 88 C6 FA");
  spec.law.bitstream = Bitstream::kNone;
  spec.law.slots = 10;
  expect_bytes(spec, 1, 30, std::vector<int>(levels.begin(), levels.begin() + 30),
               "88 C6 FA 08 1A EB 23 1A AC 8F 68 2C");
}

TEST(WorkedExamples, SignBits) {
  PackingSpec spec = without_scale(format("k4-low-m0p"));
  spec.bits = 1;
  spec.law.slots = 8;
  spec.code_table = CodeTable::list({1.0, -1.0});  // OneBit
  expect_bytes(spec, 1, 8, {1, -1, -1, 1, 1, 1, -1, -1}, "C6");
  spec.code_table = CodeTable::list({-1.0, 1.0});  // Q1_0
  expect_bytes(spec, 1, 8, {1, -1, -1, 1, 1, 1, -1, -1}, "39");
}

// Four weights +1, −1, 0, +1 at the distance of each format, all others 0.
void expect_first_byte(const PackingSpec& spec, int64_t elements, int64_t distance,
                       std::byte expected) {
  std::vector<int> levels(static_cast<size_t>(elements));
  const std::vector<int> probe = {+1, -1, 0, +1};
  for (size_t i = 0; i < 4; ++i) levels[i * static_cast<size_t>(distance)] = probe[i];
  QuantMatrix matrix = matrix_of(spec, 1, elements, levels);
  matrix.scale.group = spec.law.block_elements;
  matrix.scales = {0.5F};
  const auto stored = encode(spec, matrix);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  EXPECT_EQ(stored->at("codes").bytes.at(0), expected) << describe(spec);
}

TEST(WorkedExamples, BlockPlanes) {
  expect_first_byte(format("i2_s"), 128, 32, std::byte{0x86});
  expect_first_byte(format("i2_s-64"), 64, 16, std::byte{0x86});
  expect_first_byte(format("tq2_0"), 256, 32, std::byte{0x92});
}

TEST(WorkedExamples, ScalesAmongTheCodes) {
  const PackingSpec i2_s = format("i2_s");
  QuantMatrix matrix = matrix_of(i2_s, 1, 128, std::vector<int>(128));
  matrix.scales = {0.5F};
  auto stored = encode(i2_s, matrix);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  const auto& bytes = stored->at("codes").bytes;
  ASSERT_EQ(bytes.size(), 64U);
  EXPECT_EQ(hex(std::span(bytes).subspan(32, 8)), "00 00 00 3F 00 00 00 00");

  const PackingSpec q2_0 = format("q2_0");
  std::vector<int> levels(64);
  std::copy(kW16.begin(), kW16.end(), levels.begin());
  matrix = matrix_of(q2_0, 1, 64, levels);
  matrix.scales = {0.5F};
  stored = encode(q2_0, matrix);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  EXPECT_EQ(hex(std::span(stored->at("codes").bytes).first(6)), "00 38 52 4A 85 64");
}

TEST(WorkedExamples, FourBitBlocks) {
  PackingSpec spec = format("q2_0");
  spec.bits = 4;
  spec.law.slots = 2;
  spec.law.stride.value = 16;
  spec.law.block_elements = spec.scale.group = 32;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kOffset, 8);
  std::vector<int> levels(32);
  levels[0] = -8;
  levels[16] = 7;
  QuantMatrix matrix = matrix_of(spec, 1, 32, levels);
  matrix.scales = {1.0F};
  const auto stored = encode(spec, matrix);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  EXPECT_EQ(hex(std::span(stored->at("codes").bytes).first(3)), "00 3C F0");
}

TEST(WorkedExamples, AbsmaxInt8) {  // bitsandbytes: row absmax 2.54, code 64
  PackingSpec spec = format("int8-row");
  spec.scale.factor = 1.0 / 127;
  QuantMatrix matrix = matrix_of(spec, 1, 1, {64});
  matrix.scales = {2.54F};
  EXPECT_FLOAT_EQ(matrix.dense().at(0), 1.28F);
}

}  // namespace
}  // namespace trilith::packing
