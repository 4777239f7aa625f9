// What decode and encode refuse, and how they say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matrices.h"
#include "packing/catalogue.h"

namespace trilith::packing {
namespace {

using ::testing::HasSubstr;
using testing::tensor_of;
using testing::Tensors;

PackingSpec k4() { return find_format("k4-low-0pm")->spec; }

// W[2, 4] of a K-adjacent format with F32 row scales: one byte a row.
PackingSpec k4_f32() {
  PackingSpec spec = k4();
  spec.scale.dtype = DType::kF32;
  return spec;
}

Tensors two_rows(uint8_t first, uint8_t second) {
  Tensors tensors;
  tensors.stored["codes"] = tensor_of<uint8_t>(DType::kU8, {2, 1}, {first, second});
  tensors.stored["scale"] = tensor_of<float>(DType::kF32, {2}, {0.5F, 0.25F});
  return tensors;
}

std::string error_of(const PackingSpec& spec, const Tensors& tensors, int64_t rows = 2,
                     int64_t cols = 4) {
  const auto matrix = decode(spec, tensors.views(), rows, cols);
  return matrix.ok() ? "decoded" : matrix.error().to_string();
}

TEST(Decode, UnusedCodesAreCountedAndLocated) {
  const Tensors tensors = two_rows(0b10'01'00'01, 0b11'00'11'10);
  const auto refused = decode(k4_f32(), tensors.views(), 2, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kDamaged);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("2 weights have a code without a level"));
  EXPECT_THAT(refused.error().to_string(), HasSubstr("code 3 at row 1, column 1"));
  const auto taken = decode(k4_f32(), tensors.views(), 2, 4, {.unused_as_zero = true});
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(taken->dense(), ::testing::ElementsAre(.5F, 0, .5F, -.5F, -.25F, 0, 0, 0));
  EXPECT_EQ(taken->codes[5], 3);  // the code itself is kept
  QuantMatrix raw = *taken;
  raw.levels = levels_of(k4());
  EXPECT_EQ(raw.unused_codes().count, 2);
  EXPECT_EQ(raw.unused_codes().first, 5);
  EXPECT_EQ(raw.integer_levels(), std::nullopt);
  EXPECT_TRUE(taken->integer_levels().has_value());
}

TEST(Decode, PaddingMayHoldAnything) {
  const Tensors tensors = two_rows(0b11'11'00'01, 0b11'00'01'10);
  const auto matrix = decode(k4_f32(), tensors.views(), 2, 2);
  ASSERT_TRUE(matrix.ok()) << matrix.error().to_string();
  EXPECT_THAT(matrix->dense(), ::testing::ElementsAre(.5F, 0, -.25F, .25F));
}

TEST(Decode, UnusedRowsOfKnMatricesAreLocatedToo) {
  PackingSpec spec = k4_f32();
  spec.orient = Orientation::kKN;
  spec.law.axis = Axis::kN;
  Tensors tensors;
  tensors.stored["codes"] = tensor_of<uint8_t>(DType::kU8, {3, 1}, {0, 0, 0b00'11'00'00});
  tensors.stored["scale"] = tensor_of<float>(DType::kF32, {4}, {1, 1, 1, 1});
  EXPECT_THAT(error_of(spec, tensors, 4, 3), HasSubstr("row 2, column 2"));
}

TEST(Decode, SizesAndTypesAreChecked) {
  const Tensors good = two_rows(0, 0);
  EXPECT_EQ(error_of(k4_f32(), good), "decoded");
  EXPECT_THAT(error_of(k4_f32(), good, 3, 4), HasSubstr("expected [3, 1]; found [2, 1]"));
  EXPECT_THAT(error_of(k4_f32(), good, 2, 5), HasSubstr("expected [2, 2]"));
  EXPECT_THAT(error_of(k4(), good), HasSubstr("expected F16; found F32"));
  EXPECT_THAT(error_of(k4_f32(), good, 0, 4), HasSubstr("impossible shape"));
  EXPECT_THAT(error_of(k4_f32(), good, int64_t{1} << 40, int64_t{1} << 40),
              HasSubstr("impossible shape"));

  Tensors tensors = two_rows(0, 0);
  tensors.stored["codes"].dtype = DType::kI8;
  EXPECT_THAT(error_of(k4_f32(), tensors), HasSubstr("tensor 'codes'"));
  EXPECT_THAT(error_of(k4_f32(), tensors), HasSubstr("expected U8; found I8"));
  tensors = two_rows(0, 0);
  tensors.stored["codes"].bytes.pop_back();  // a view shorter than its shape
  EXPECT_THAT(error_of(k4_f32(), tensors), HasSubstr("in 1 bytes"));
  tensors = two_rows(0, 0);
  tensors.stored.erase("scale");
  EXPECT_THAT(error_of(k4_f32(), tensors), HasSubstr("lacks its tensor 'scale'"));
  tensors = two_rows(0, 0);
  tensors.stored["zero"] = tensors.stored["scale"];
  EXPECT_THAT(error_of(k4_f32(), tensors), HasSubstr("the format has no tensor 'zero'"));
  // [N, K/4] and [N/4, K] hold as many bytes and are not the same.
  Tensors square;
  square.stored["codes"] = tensor_of<uint8_t>(DType::kU8, {8, 2}, std::vector<uint8_t>(16));
  square.stored["scale"] = tensor_of<float>(DType::kF32, {8}, std::vector<float>(8));
  EXPECT_EQ(error_of(k4_f32(), square, 8, 8), "decoded");
  square.stored["codes"].shape = {2, 8};
  EXPECT_THAT(error_of(k4_f32(), square, 8, 8), HasSubstr("another shape"));
  square.stored["codes"].shape = {16};  // a flat buffer says nothing against it
  EXPECT_EQ(error_of(k4_f32(), square, 8, 8), "decoded");
}

TEST(Decode, ScalesMustBeFinite) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    Tensors tensors = two_rows(0, 0);
    tensors.stored["scale"] = tensor_of<float>(DType::kF32, {2}, {1.0F, bad});
    EXPECT_THAT(error_of(k4_f32(), tensors), HasSubstr("at index 1"));
  }
  PackingSpec spec = k4_f32();
  spec.scale.op = Scale::Op::kDivide;
  Tensors tensors = two_rows(0, 0);
  tensors.stored["scale"] = tensor_of<float>(DType::kF32, {2}, {1.0F, 0.0F});
  EXPECT_THAT(error_of(spec, tensors), HasSubstr("a scale is not finite"));
}

TEST(Decode, BitsOutsideTheFieldsAreRefused) {
  PackingSpec spec = find_format("u8-m0p")->spec;
  spec.scale = Scale{};
  spec.scale.index = Scale::Index::kNone;
  Tensors tensors;
  tensors.stored["codes"] = tensor_of<uint8_t>(DType::kU8, {2, 2}, {0, 1, 2, 6});
  EXPECT_THAT(error_of(spec, tensors, 2, 2), HasSubstr("0x6 at row 1, column 1"));

  PackingSpec int8 = find_format("int8-ternary")->spec;  // the sign fills the byte
  int8.scale = spec.scale;
  tensors.stored["codes"] = tensor_of<int8_t>(DType::kI8, {2, 2}, {0, 1, -1, 3});
  EXPECT_THAT(error_of(int8, tensors, 2, 2), HasSubstr("0x3 at row 1, column 1"));
  tensors.stored["codes"] = tensor_of<int8_t>(DType::kI8, {2, 2}, {0, 1, -1, -2});
  EXPECT_THAT(error_of(int8, tensors, 2, 2), HasSubstr("code 2 at row 1, column 1"));
}

TEST(Decode, BytesThatAreNoTritsAreRefused) {
  PackingSpec spec = find_format("base3")->spec;
  spec.scale = Scale{};
  spec.scale.index = Scale::Index::kNone;
  Tensors tensors;
  tensors.stored["codes"] = tensor_of<uint8_t>(DType::kU8, {1, 2}, {242, 243});
  EXPECT_THAT(error_of(spec, tensors, 1, 10), HasSubstr("0xf3 at row 0, column 5"));
  spec.digits.map = Digits::Map::kCeil256;
  for (const int gap : {1, 20, 40, 60, 79, 99, 119, 138, 158, 178, 197, 217, 237}) {
    tensors.stored["codes"] =
        tensor_of<uint8_t>(DType::kU8, {1, 2}, {0, static_cast<uint8_t>(gap)});
    EXPECT_THAT(error_of(spec, tensors, 1, 10), HasSubstr("1 words")) << gap;
  }
}

TEST(Decode, FloatContainersTellStrangers) {
  PackingSpec spec = find_format("float-ternary")->spec;
  spec.container = spec.scale.dtype = DType::kF32;
  spec.bits = spec.law.word_bits = 32;
  Tensors tensors;
  tensors.stored["codes"] = tensor_of<float>(DType::kF32, {2, 3}, {1, 0, -1, .5F, -.5F, 0});
  const auto matrix = decode(spec, tensors.views(), 2, 3);
  ASSERT_TRUE(matrix.ok()) << matrix.error().to_string();
  EXPECT_THAT(matrix->scales, ::testing::ElementsAre(1, .5F));
  EXPECT_THAT(matrix->codes, ::testing::ElementsAre(2, 1, 0, 2, 0, 1));
  spec.scale.index = Scale::Index::kTensor;
  EXPECT_THAT(error_of(spec, tensors, 2, 3), HasSubstr("2 weights are no level"));
  EXPECT_THAT(error_of(spec, tensors, 2, 3), HasSubstr("0.5 beside scale 1, row 1, column 0"));
  tensors.stored["codes"] = tensor_of<float>(DType::kF32, {2, 3}, {1, 0, NAN, .5F, -.5F, 0});
  EXPECT_THAT(error_of(spec, tensors, 2, 3), HasSubstr("not finite"));
}

TEST(Decode, ColumnGroups) {
  PackingSpec spec = k4_f32();
  spec.scale.index = Scale::Index::kRowGroup;
  spec.scale.group = 2;
  spec.group_index = true;
  Tensors tensors = two_rows(0b01'01'01'01, 0b01'01'01'01);
  tensors.stored["scale"] = tensor_of<float>(DType::kF32, {2, 2}, {1, 2, 3, 4});
  tensors.stored["group_index"] = tensor_of<int32_t>(DType::kI32, {4}, {0, 1, 1, 0});
  const auto matrix = decode(spec, tensors.views(), 2, 4);
  ASSERT_TRUE(matrix.ok()) << matrix.error().to_string();
  EXPECT_THAT(matrix->dense(), ::testing::ElementsAre(1, 2, 2, 1, 3, 4, 4, 3));
  tensors.stored["group_index"] = tensor_of<int32_t>(DType::kI32, {4}, {0, 1, 2, 0});
  EXPECT_THAT(error_of(spec, tensors), HasSubstr("2 for column 2"));
}

TEST(Decode, WhatThisBuildCannotReadIsNamed) {
  PackingSpec spec = k4_f32();
  spec.law.unit = UnitScope::kTile;
  spec.law.tile.kind = TileMap::Kind::kTl2;
  const auto refused = decode(spec, {}, 64, 64);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("TL2"));
  spec = k4_f32();
  spec.row_map = {RowMap::Kind::kRopePermute, 4};
  EXPECT_THAT(decode(spec, {}, 64, 64).error().message, HasSubstr("permuted rows"));
  spec = find_format("q2_0")->spec;
  spec.scale.index = Scale::Index::kSubBlock;
  EXPECT_THAT(decode(spec, {}, 64, 64).error().message, HasSubstr("sub-scales"));
}

TEST(Encode, RefusesWhatTheFormatCannotHold) {
  const Tensors tensors = two_rows(0b10'01'00'01, 0);
  QuantMatrix matrix = *decode(k4_f32(), tensors.views(), 2, 4);
  ASSERT_TRUE(encode(k4_f32(), matrix).ok());
  QuantMatrix changed = matrix;
  changed.codes[0] = 4;
  EXPECT_THAT(encode(k4_f32(), changed).error().message, HasSubstr("does not fit"));
  changed = matrix;
  changed.scales.pop_back();
  EXPECT_THAT(encode(k4_f32(), changed).error().message, HasSubstr("scales"));
  changed = matrix;
  changed.codes.pop_back();
  EXPECT_THAT(encode(k4_f32(), changed).error().message, HasSubstr("codes"));
  changed = matrix;
  changed.scales[0] = 0.1F;  // not an F16
  EXPECT_THAT(encode(k4(), changed).error().message, HasSubstr("representable as F16"));
  changed = matrix;
  changed.scale.index = Scale::Index::kColumn;
  EXPECT_THAT(encode(k4_f32(), changed).error().message, HasSubstr("kind of scale"));
  changed = matrix;
  changed.bits = 3;
  EXPECT_THAT(encode(k4_f32(), changed).error().message, HasSubstr("width"));
}

TEST(LogicalShape, RefusesWhatItCannotKnow) {
  EXPECT_EQ(*logical_shape(k4(), {"w", DType::kU8, {6, 5}, {}}),
            (std::pair<int64_t, int64_t>{6, 20}));
  EXPECT_FALSE(logical_shape(k4(), {"w", DType::kU8, {30}, {}}).ok());
  EXPECT_FALSE(logical_shape(k4(), {"w", DType::kU8, {-6, 5}, {}}).ok());
  const PackingSpec tq2 = find_format("tq2_0")->spec;
  EXPECT_EQ(*logical_shape(tq2, {"w", DType::kU8, {6, 132}, {}}),
            (std::pair<int64_t, int64_t>{6, 512}));
  EXPECT_FALSE(logical_shape(tq2, {"w", DType::kU8, {6, 130}, {}}).ok());
}

TEST(ScaleAt, IncludesFactorAndDirection) {
  QuantMatrix matrix;
  matrix.rows = matrix.cols = 1;
  matrix.codes = {1};
  matrix.levels = {0.0, 3.0};
  matrix.scales = {4.0F};
  matrix.scale.factor = 0.5;
  EXPECT_EQ(matrix.scale_at(0, 0), 2.0);
  EXPECT_EQ(matrix.value(0, 0), 6.0);
  matrix.scale.op = Scale::Op::kDivide;
  EXPECT_EQ(matrix.scale_at(0, 0), 0.5);
  matrix.scale.op = Scale::Op::kMultiplyPowerOfTwo;
  EXPECT_EQ(matrix.value(0, 0), 24.0);
  matrix.scales = {0.5F};
  EXPECT_EQ(static_cast<float>(matrix.value(0, 0)), 3.0F * 0.5F * 1.41421356F);
}

}  // namespace
}  // namespace trilith::packing
