#include "packing/catalogue.h"

#include <vector>

#include "packing/catalogue_rows.h"

namespace trilith::packing {
namespace {

using Levels = std::vector<std::optional<double>>;

Levels offset_one() { return {-1.0, 0.0, 1.0, std::nullopt}; }
Levels zero_plus_minus() { return {0.0, 1.0, -1.0, std::nullopt}; }
Levels twos_ternary() { return {0.0, 1.0, std::nullopt, -1.0}; }
Levels offset_two() { return {-2.0, -1.0, 0.0, 1.0}; }
Levels trits() { return {-1.0, 0.0, 1.0}; }

Scale scale_of(Scale::Index index, DType dtype) {
  Scale scale;
  scale.index = index;
  scale.dtype = dtype;
  return scale;
}

// Four neighbours of a row in a byte.
PackingSpec k4(SlotOrder order, Levels levels, Scale scale) {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.law.slot_order = order;
  spec.code_table = CodeTable::list(std::move(levels));
  spec.scale = std::move(scale);
  return spec;
}

PackingSpec in_int8(PackingSpec spec) {
  spec.container = DType::kI8;
  return spec;
}

// One code in each byte.
PackingSpec bytes(DType container, Levels levels) {
  PackingSpec spec;
  spec.container = container;
  spec.code_table = CodeTable::list(std::move(levels));
  spec.scale = scale_of(Scale::Index::kRow, DType::kF16);
  return spec;
}

PackingSpec int8(Scale scale) {
  PackingSpec spec;
  spec.bits = 8;
  spec.container = DType::kI8;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kNative);
  spec.scale = std::move(scale);
  return spec;
}

PackingSpec float_container(DType container, Scale::Index index) {
  PackingSpec spec;
  spec.symbol = Symbol::kFloatContainer;
  spec.container = container;
  spec.bits = static_cast<int>(dtype_size(container)) * 8;
  spec.law.word_bits = spec.bits;
  spec.code_table = CodeTable::list(trits());
  spec.scale = scale_of(index, container);
  spec.scale.place = Scale::Place::kImplicit;
  return spec;
}

// Quarter planes: a byte holds rows r, r + N/4, r + N/2, r + 3N/4 of one column.
PackingSpec hf_bitnet(Scale::Op op) {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.law.stride.kind = Stride::Kind::kExtentOverSlots;
  spec.law.axis = Axis::kN;
  spec.law.unit = UnitScope::kTensor;
  spec.code_table = CodeTable::list(offset_one());
  spec.pad = {Pad::Scope::kTensor, 0};
  spec.scale = scale_of(Scale::Index::kTensor, DType::kBF16);
  spec.scale.op = op;
  spec.activation = Activation::kInt8Token;
  return spec;
}

PackingSpec i2_s(int64_t block) {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.law.stride.value = block / 4;
  spec.law.slot_order = SlotOrder::kHighFirst;
  spec.law.unit = UnitScope::kBlock;
  spec.law.block_elements = block;
  spec.law.tensor_fields = {{FieldKind::kCodes, DType::kU8, 0},
                            {FieldKind::kScale, DType::kF32, 1},
                            {FieldKind::kPadding, DType::kU8, 28}};
  spec.code_table = CodeTable::list(offset_one());
  spec.scale = scale_of(Scale::Index::kTensor, DType::kF32);
  spec.scale.place = Scale::Place::kTail;
  spec.activation = Activation::kInt8Token;
  return spec;
}

// A ggml block along K: codes with one F16 scale before or behind them.
PackingSpec ggml_block(int64_t elements, bool scale_first, Levels levels) {
  PackingSpec spec;
  spec.law.unit = UnitScope::kBlock;
  spec.law.block_elements = elements;
  const Field codes{FieldKind::kCodes, DType::kU8, 0};
  const Field scale{FieldKind::kScale, DType::kF16, 1};
  spec.law.fields = scale_first ? std::vector{scale, codes} : std::vector{codes, scale};
  spec.code_table = CodeTable::list(std::move(levels));
  spec.scale = scale_of(Scale::Index::kBlock, DType::kF16);
  spec.scale.place = Scale::Place::kBlock;
  spec.scale.group = elements;
  return spec;
}

PackingSpec ggml_two_bit(int64_t elements, int64_t stride, bool scale_first) {
  PackingSpec spec = ggml_block(elements, scale_first, {-1.0, 0.0, 1.0, 2.0});
  spec.law.slots = 4;
  spec.law.stride.value = stride;
  return spec;
}

PackingSpec ggml_one_bit() {
  PackingSpec spec = ggml_block(128, true, {-1.0, 1.0});
  spec.bits = 1;
  spec.law.slots = 8;
  return spec;
}

PackingSpec ggml_base3(int64_t elements, std::vector<Section> sections) {
  PackingSpec spec = ggml_block(elements, false, trits());
  spec.symbol = Symbol::kBase3;
  spec.bits = 0;
  spec.law.sections = std::move(sections);
  spec.digits = {Digits::Order::kMsbFirst, Digits::Map::kCeil256, 0};
  return spec;
}

PackingSpec iq2_bn() {
  PackingSpec spec =
      k4(SlotOrder::kLowFirst, offset_one(), scale_of(Scale::Index::kRow, DType::kF32));
  spec.law.stride.value = 16;
  spec.law.unit = UnitScope::kBlock;
  spec.law.block_elements = 64;
  spec.law.line_fields = {{FieldKind::kScale, DType::kF32, 1}, {FieldKind::kCodes, DType::kU8, 0}};
  spec.scale.place = Scale::Place::kLine;
  return spec;
}

PackingSpec base3(Scale scale, int pad_digit) {
  PackingSpec spec;
  spec.symbol = Symbol::kBase3;
  spec.bits = 0;
  spec.law.slots = 5;
  spec.digits.pad_digit = pad_digit;
  spec.pad.scope = Pad::Scope::kLine;
  spec.code_table = CodeTable::list(trits());
  spec.scale = std::move(scale);
  return spec;
}

PackingSpec bit_planes(std::vector<PlaneRole> planes, Scale scale) {
  PackingSpec spec;
  spec.symbol = Symbol::kBitPlanes;
  spec.law.slots = 8;
  spec.planes = std::move(planes);
  spec.code_table = CodeTable::rule(CodeTable::Kind::kPlanes);
  spec.scale = std::move(scale);
  return spec;
}

Scale row_groups(int64_t group, DType dtype) {
  Scale scale = scale_of(Scale::Index::kRowGroup, dtype);
  scale.group = group;
  return scale;
}

std::vector<CatalogueRow> ternary_rows() {
  using Op = Scale::Op;
  const auto low = SlotOrder::kLowFirst;
  const auto high = SlotOrder::kHighFirst;
  const Scale row = scale_of(Scale::Index::kRow, DType::kF16);
  const Scale tensor_bf16 = scale_of(Scale::Index::kTensor, DType::kBF16);
  const std::string_view generator = "tools/make_golden_packing.py (no installable writer)";
  return {
      {"k4-low-0pm", "4 a byte along K, low first, {0,+1,−1}", generator,
       k4(low, zero_plus_minus(), row)},
      {"k4-low-m0p", "4 a byte along K, low first, {−1,0,+1}", generator,
       k4(low, offset_one(), row)},
      {"k4-low-twos", "4 a byte along K, low first, two's complement", generator,
       k4(low, twos_ternary(), row)},
      {"k4-low-offset2", "4 a byte along K, low first, q−2",
       "transformers, integrations/gemma_quant.py", k4(low, offset_two(), row)},
      {"k4-high-0pm", "4 a byte along K, high first, {0,+1,−1}", generator,
       k4(high, zero_plus_minus(), row)},
      {"k4-high-m0p", "4 a byte along K, high first, {−1,0,+1}", generator,
       k4(high, offset_one(), row)},
      {"k4-high-twos", "4 a byte along K, high first, two's complement",
       "torchao, prototype/quantized_training/bitnet.py",
       in_int8(k4(high, twos_ternary(), tensor_bf16))},
      {"k4-high-offset2", "4 a byte along K, high first, q−2", generator,
       k4(high, offset_two(), row)},
      {"u8-0pm", "one code a byte, {0,+1,−1}", generator, bytes(DType::kU8, zero_plus_minus())},
      {"u8-m0p", "one code a byte, {−1,0,+1}", generator, bytes(DType::kU8, offset_one())},
      {"u8-twos", "one code a byte, two's complement in two bits", generator,
       bytes(DType::kU8, twos_ternary())},
      {"u8-offset2", "one code a byte, q−2", generator, bytes(DType::kU8, offset_two())},
      {"int8-ternary", "one ternary number an int8", generator, bytes(DType::kI8, twos_ternary())},
      {"float-ternary", "±s and 0 as F16, one s a row", generator,
       float_container(DType::kF16, Scale::Index::kRow)},
      {"float-ternary-tensor", "±s and 0 as BF16, one s a tensor", generator,
       float_container(DType::kBF16, Scale::Index::kTensor)},
      {"hf-bitnet", "Hugging Face BitNet quarter planes (autobitlinear)",
       "transformers, integrations/bitnet.py", hf_bitnet(Op::kMultiply)},
      {"hf-bitnet-inverse", "Hugging Face BitNet quarter planes, inverse scale (bitlinear)",
       "transformers, integrations/bitnet.py", hf_bitnet(Op::kDivide)},
      {"i2_s", "BitNet I2_S, blocks of 128 (x86 and every published file)",
       "microsoft/BitNet, src/ggml-bitnet-mad.cpp", i2_s(128)},
      {"i2_s-64", "BitNet I2_S, blocks of 64 (quantised on ARM)",
       "microsoft/BitNet, src/ggml-bitnet-mad.cpp", i2_s(64)},
      {"tq2_0", "GGUF TQ2_0", "ggml, src/ggml-quants.c", ggml_two_bit(256, 32, false)},
      {"tq1_0", "GGUF TQ1_0", "ggml, src/ggml-quants.c",
       ggml_base3(256, {{5, 32}, {5, 16}, {4, 4}})},
      {"q2_0", "GGUF Q2_0", "ggml, src/ggml-quants.c", ggml_two_bit(64, 1, true)},
      {"q1_0", "GGUF Q1_0", "ggml, src/ggml-quants.c", ggml_one_bit()},
      {"pq2_0", "GGUF PQ2_0 (Bonsai Q2_0 of 128)", "PrismML llama.cpp, ggml/src/ggml-common.h",
       ggml_two_bit(128, 1, true)},
      {"ptq1_0", "GGUF PTQ1_0", "PrismML llama.cpp, ggml/src/ggml-common.h",
       ggml_base3(128, {{5, 16}, {5, 8}, {4, 2}})},
      {"iq2_bn", "GGUF IQ2_BN", "ik_llama.cpp, ggml/src/iqk/iqk_quantize.cpp", iq2_bn()},
      {"int8-row", "int8, one scale a row", "compressed-tensors int-quantized",
       int8(scale_of(Scale::Index::kRow, DType::kBF16))},
      {"int8-tensor", "int8, one scale a tensor", "compressed-tensors int-quantized",
       int8(scale_of(Scale::Index::kTensor, DType::kF32))},
      {"base3", "five trits a byte, low digit first", generator,
       base3(row_groups(128, DType::kF16), 0)},
      {"planes-pm", "a mask of +1 and a mask of −1", generator,
       bit_planes({PlaneRole::kPositive, PlaneRole::kNegative}, row)},
      {"planes-sign", "a sign mask and a mask of nonzeros", generator,
       bit_planes({PlaneRole::kSign, PlaneRole::kNonzero},
                  scale_of(Scale::Index::kTensor, DType::kF32))},
  };
}

const std::vector<CatalogueRow>& rows() {
  static const std::vector<CatalogueRow> kRows = [] {
    std::vector<CatalogueRow> all = ternary_rows();
    add_ggml_rows(all);
    add_library_rows(all);
    add_kernel_rows(all);
    return all;
  }();
  return kRows;
}

// With the dtypes of scales levelled: writers keep them in the model's own type.
PackingSpec without_scale_types(PackingSpec spec) {
  if (spec.scale.place == Scale::Place::kTensor) spec.scale.dtype = DType::kF32;
  if (spec.zero.kind != Zero::Kind::kNone && spec.zero.bits == 0) spec.zero.dtype = DType::kF32;
  return spec;
}

}  // namespace

std::span<const CatalogueRow> catalogue() { return rows(); }

const CatalogueRow* find_format(std::string_view name) {
  for (const CatalogueRow& row : rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const CatalogueRow* name_of(const PackingSpec& spec) {
  const PackingSpec wanted = without_scale_types(spec);
  for (const CatalogueRow& row : rows()) {
    if (without_scale_types(row.spec) == wanted) return &row;
  }
  return nullptr;
}

}  // namespace trilith::packing
