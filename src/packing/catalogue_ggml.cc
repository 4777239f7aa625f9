// Blocks of ggml: the older kinds, the K-quants with two levels of scales, small floats and tables,
// and those of forks.
#include "packing/catalogue_rows.h"

namespace trilith::packing {
namespace {

constexpr Field kCodes{FieldKind::kCodes, DType::kU8, 0};
constexpr Field kHigh{FieldKind::kHighBits, DType::kU8, 0};

Field scale_field(DType dtype, int64_t count = 1) { return {FieldKind::kScale, dtype, count}; }
Field min_field() { return {FieldKind::kMin, DType::kF16, 1}; }
Field sub_scales(int64_t bytes) { return {FieldKind::kSubScales, DType::kU8, bytes}; }

// A block along K with one scale, of the fields' type.
PackingSpec block(int64_t elements, int bits, std::vector<Field> fields) {
  PackingSpec spec;
  spec.bits = bits;
  spec.law.unit = UnitScope::kBlock;
  spec.law.block_elements = elements;
  spec.law.slots = 8 / bits;
  spec.scale.index = Scale::Index::kBlock;
  spec.scale.place = Scale::Place::kBlock;
  spec.scale.group = elements;
  for (const Field& field : fields) {
    if (field.kind == FieldKind::kScale) spec.scale.dtype = field.dtype;
    if (field.kind == FieldKind::kMin) {
      spec.zero.kind = Zero::Kind::kFloatBias;
      spec.zero.dtype = DType::kF16;
    }
  }
  spec.law.fields = std::move(fields);
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  return spec;
}

PackingSpec with_offset(PackingSpec spec, int64_t offset) {
  spec.code_table = CodeTable::rule(CodeTable::Kind::kOffset, offset);
  return spec;
}

PackingSpec with_stride(PackingSpec spec, int64_t stride) {
  spec.law.stride.value = stride;
  return spec;
}

PackingSpec with_planes(PackingSpec spec, std::vector<int> widths, std::vector<int64_t> strides) {
  spec.law.slots = 1;
  spec.law.sub_planes = std::move(widths);
  spec.law.plane_strides = std::move(strides);
  return spec;
}

PackingSpec two_levels(PackingSpec spec, Scale::SubLayout layout, int64_t group) {
  spec.scale.index = Scale::Index::kSubBlock;
  spec.scale.sub_layout = layout;
  spec.scale.group = group;
  if (spec.zero.kind != Zero::Kind::kNone) spec.zero.kind = Zero::Kind::kFloatShift;
  return spec;
}

PackingSpec with_table(PackingSpec spec, std::vector<std::optional<double>> levels) {
  spec.symbol = Symbol::kTable;
  spec.code_table = CodeTable::list(std::move(levels));
  return spec;
}

// The sixteen levels of IQ4_NL and IQ4_XS.
std::vector<std::optional<double>> iq4_levels() {
  return {-127., -104., -83., -65., -49., -35., -22., -10., 1., 13., 25., 38., 53., 69., 89., 113.};
}

// e2m1 is stored doubled, so that the levels are integers, and the scale halves it.
PackingSpec doubled_e2m1(PackingSpec spec) {
  spec = with_table(std::move(spec),
                    {0., 1., 2., 3., 4., 6., 8., 12., 0., -1., -2., -3., -4., -6., -8., -12.});
  spec.scale.factor = 0.5;
  return spec;
}

PackingSpec nvfp4() {
  PackingSpec spec = doubled_e2m1(block(64, 4, {scale_field(DType::kF8E4M3, 4), kCodes}));
  spec.law.stride.value = 8;
  spec.scale.group = 16;
  return spec;
}

// Rows of a F16 scale and 13 bytes every 64 elements: 15 of each 16 in three bytes of five trits,
// every 16th in one byte at the end.
PackingSpec iq1_bn() {
  PackingSpec spec;
  spec.symbol = Symbol::kBase3;
  spec.bits = 0;
  spec.digits = {Digits::Order::kLsbFirst, Digits::Map::kCeil256, 0};
  spec.law.unit = UnitScope::kBlock;
  spec.law.block_elements = 64;
  for (int64_t byte = 0; byte < 12; ++byte) {
    spec.law.sections.push_back({5, 1, byte / 3 * 16 + byte % 3 * 5, 1});
  }
  spec.law.sections.push_back({4, 16, 15, 1});
  spec.law.line_fields = {scale_field(DType::kF16), kCodes};
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0});
  spec.scale.index = Scale::Index::kRow;
  spec.scale.place = Scale::Place::kLine;
  spec.scale.dtype = DType::kF16;
  return spec;
}

// I2_S of a build without parallel activations: a byte holds four rows of one column.
PackingSpec i2_s_4row() {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.law.slot_order = SlotOrder::kHighFirst;
  spec.law.axis = Axis::kN;
  spec.law.tensor_fields = {
      kCodes, scale_field(DType::kF32), {FieldKind::kPadding, DType::kU8, 28}};
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0, std::nullopt});
  spec.scale.place = Scale::Place::kTail;
  spec.activation = Activation::kInt8Token;
  return spec;
}

PackingSpec q2_0c() {
  PackingSpec spec = block(512, 2, {scale_field(DType::kF16), kCodes});
  spec.code_table = CodeTable::list({-3.0, -1.0, 1.0, 3.0});
  return spec;
}

}  // namespace

void add_ggml_rows(std::vector<CatalogueRow>& rows) {
  using Sub = Scale::SubLayout;
  const auto f16 = scale_field(DType::kF16);
  const std::string_view ggml = "ggml, src/ggml-quants.c";
  rows.insert(
      rows.end(),
      {
          {"q4_0", "GGUF Q4_0", ggml, with_offset(with_stride(block(32, 4, {f16, kCodes}), 16), 8)},
          {"q4_1", "GGUF Q4_1", ggml, with_stride(block(32, 4, {f16, min_field(), kCodes}), 16)},
          {"q5_0", "GGUF Q5_0", ggml,
           with_offset(with_planes(block(32, 5, {f16, kHigh, kCodes}), {4, 1}, {16, 1}), 16)},
          {"q5_1", "GGUF Q5_1", ggml,
           with_planes(block(32, 5, {f16, min_field(), kHigh, kCodes}), {4, 1}, {16, 1})},
          {"q8_0", "GGUF Q8_0", ggml,
           [&] {
             PackingSpec spec = block(32, 8, {f16, kCodes});
             spec.code_table = CodeTable::rule(CodeTable::Kind::kTwosComplement);
             return spec;
           }()},
          {"q2_k", "GGUF Q2_K", ggml,
           two_levels(with_stride(block(256, 2, {sub_scales(16), kCodes, f16, min_field()}), 32),
                      Sub::kQ2K, 16)},
          {"q3_k", "GGUF Q3_K", ggml,
           two_levels(with_offset(with_planes(block(256, 3, {kHigh, kCodes, sub_scales(12), f16}),
                                              {2, 1}, {32, 32}),
                                  4),
                      Sub::kQ3K, 16)},
          {"q4_k", "GGUF Q4_K", ggml,
           two_levels(with_stride(block(256, 4, {f16, min_field(), sub_scales(12), kCodes}), 32),
                      Sub::kQ4K, 32)},
          {"q5_k", "GGUF Q5_K", ggml,
           two_levels(with_planes(block(256, 5, {f16, min_field(), sub_scales(12), kHigh, kCodes}),
                                  {4, 1}, {32, 32}),
                      Sub::kQ4K, 32)},
          {"q6_k", "GGUF Q6_K", ggml,
           two_levels(with_offset(with_planes(block(256, 6, {kCodes, kHigh, sub_scales(16), f16}),
                                              {4, 2}, {64, 32}),
                                  32),
                      Sub::kQ6K, 16)},
          {"iq4_nl", "GGUF IQ4_NL", ggml,
           with_table(with_stride(block(32, 4, {f16, kCodes}), 16), iq4_levels())},
          {"iq4_xs", "GGUF IQ4_XS", ggml,
           two_levels(with_table(with_stride(block(256, 4, {f16, sub_scales(6), kCodes}), 16),
                                 iq4_levels()),
                      Sub::kIq4Xs, 32)},
          {"mxfp4", "GGUF MXFP4", ggml,
           doubled_e2m1(with_stride(block(32, 4, {scale_field(DType::kF8E8M0), kCodes}), 16))},
          {"nvfp4", "GGUF NVFP4", ggml, nvfp4()},
          {"q2_0c", "GGUF Q2_0C (four levels without a zero)", "llama.cpp, pull request 19357",
           q2_0c()},
          {"iq1_bn", "GGUF IQ1_BN", "ik_llama.cpp, ggml/src/iqk/iqk_quantize.cpp", iq1_bn()},
          {"i2_s-4row", "BitNet I2_S, four rows a byte (x86 without ACT_PARALLEL)",
           "microsoft/BitNet, src/ggml-bitnet-mad.cpp", i2_s_4row()},
      });
}

}  // namespace trilith::packing
