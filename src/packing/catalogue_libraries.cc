// What the quantisation libraries of PyTorch and MLX write. Group sizes are those of a row's golden
// vector; another size is the same format.
#include "packing/catalogue_rows.h"

namespace trilith::packing {
namespace {

Scale groups(int64_t group, DType dtype) {
  Scale scale;
  scale.index = group == 0 ? Scale::Index::kRow : Scale::Index::kRowGroup;
  scale.group = group;
  scale.dtype = dtype;
  return scale;
}

// Neighbours along K in words of the container, dense where the bits do not divide them.
PackingSpec row_words(DType container, int bits, Scale scale) {
  PackingSpec spec;
  spec.bits = bits;
  spec.container = container;
  spec.law.word_bits = static_cast<int>(dtype_size(container)) * 8;
  if (spec.law.word_bits % bits == 0) {
    spec.law.slots = spec.law.word_bits / bits;
  } else {
    spec.law.bitstream = Bitstream::kLsbFirst;
  }
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  spec.scale = std::move(scale);
  return spec;
}

PackingSpec with_table(PackingSpec spec, CodeTable::Kind kind, int64_t offset = 0) {
  spec.code_table = CodeTable::rule(kind, offset);
  return spec;
}

PackingSpec with_integer_zeros(PackingSpec spec, DType dtype, int bits, Axis packed_axis) {
  spec.zero.kind = Zero::Kind::kInteger;
  spec.zero.dtype = dtype;
  spec.zero.bits = bits;
  spec.zero.packed_axis = packed_axis;
  return spec;
}

// [K · bits / 32, N]: words along K of the transposed matrix.
PackingSpec gptq(int bits, int64_t group, bool stored_minus_one) {
  Scale scale = groups(group, DType::kF16);
  scale.layout = Scale::Layout::kTransposed;
  PackingSpec spec = row_words(DType::kI32, bits, scale);
  spec.orient = Orientation::kKN;
  spec.law.unit = UnitScope::kTensor;
  spec = with_integer_zeros(std::move(spec), DType::kI32, bits, Axis::kN);
  spec.zero.bitstream = spec.law.bitstream != Bitstream::kNone;
  spec.zero.stored_minus_one = stored_minus_one;
  return spec;
}

// 32 codes of a column in planes, a word of 32 bits at a time.
PackingSpec gptq_planar(std::vector<int> planes) {
  int bits = 0;
  for (const int width : planes) bits += width;
  PackingSpec spec = gptq(bits, 64, false);
  spec.law.bitstream = Bitstream::kNone;
  spec.law.unit = UnitScope::kBlock;
  spec.law.block_elements = 32;
  spec.law.slots = 1;
  spec.law.plane_strides.assign(planes.size(), 1);
  spec.zero.bitstream = false;
  spec.law.sub_planes = spec.zero.sub_planes = std::move(planes);
  return spec;
}

PackingSpec awq_gemm() {
  PackingSpec spec = gptq(4, 128, false);
  spec.law.axis = Axis::kN;
  spec.law.unit = UnitScope::kLine;
  spec.law.slot_order = spec.zero.slot_order = SlotOrder::kExplicit;
  spec.law.explicit_order = spec.zero.explicit_order = {0, 4, 1, 5, 2, 6, 3, 7};
  return spec;
}

PackingSpec awq_gemv() {
  PackingSpec spec = with_integer_zeros(row_words(DType::kI32, 4, groups(64, DType::kF16)),
                                        DType::kI32, 4, Axis::kK);
  spec.scale.stored_multiple = 16;
  return spec;
}

PackingSpec compressed(int bits, int64_t group) {
  return with_table(row_words(DType::kI32, bits, groups(group, DType::kBF16)),
                    CodeTable::Kind::kOffset, int64_t{1} << (bits - 1));
}

// The matrix as rows of a group each, those in equal parts that share a byte.
PackingSpec grouped_view(int bits, SlotOrder order, Regroup regroup, Scale scale) {
  PackingSpec spec;
  spec.bits = bits;
  spec.law.slots = 8 / bits;
  spec.law.slot_order = order;
  spec.law.axis = Axis::kFlat;
  spec.law.unit = UnitScope::kTensor;
  spec.law.stride.kind = Stride::Kind::kExtentOverSlots;
  const bool rows_of_groups = scale.index == Scale::Index::kRowGroup;
  spec.law.stride.granule = rows_of_groups ? scale.group : 1;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  spec.scale = std::move(scale);
  spec.regroup = regroup;
  spec.pad = {Pad::Scope::kTensor, 0};
  return spec;
}

PackingSpec hqq(int bits, int axis) {
  Scale scale = groups(64, DType::kF16);
  if (axis == 0) scale.index = Scale::Index::kModulo;
  PackingSpec spec = grouped_view(bits, SlotOrder::kHighFirst, {axis, 64}, scale);
  spec.zero.kind = Zero::Kind::kFloat;
  spec.zero.dtype = DType::kF16;
  return spec;
}

PackingSpec quanto(int bits) {
  PackingSpec spec = grouped_view(bits, SlotOrder::kLowFirst, {0, 64}, groups(64, DType::kF16));
  spec.zero.kind = Zero::Kind::kFloatShift;
  spec.zero.dtype = DType::kF16;
  return spec;
}

PackingSpec mlx(int bits, int64_t group) {
  PackingSpec spec = row_words(DType::kU32, bits, groups(group, DType::kF16));
  spec.zero.kind = Zero::Kind::kFloatBias;
  spec.zero.dtype = DType::kF16;
  return spec;
}

// A tensor a plane, lowest bits first, each in equal parts of the row.
PackingSpec torchao_uintx(std::vector<int> planes) {
  PackingSpec spec = row_words(DType::kU8, 8, groups(32, DType::kBF16));
  spec.bits = 0;
  for (const int width : planes) spec.bits += width;
  spec.law.stride.kind = Stride::Kind::kExtentOverSlots;
  spec.law.slots = planes.size() == 1 ? 8 / spec.bits : 1;
  if (planes.size() > 1) spec.law.sub_planes = std::move(planes);
  spec.zero.kind = Zero::Kind::kInteger;
  spec.zero.dtype = DType::kU8;
  return spec;
}

PackingSpec torchao_intx(int bits) {
  PackingSpec spec = row_words(DType::kI8, bits, groups(32, DType::kBF16));
  spec.law.slots = 1;
  spec.law.bitstream = Bitstream::kNone;
  spec = with_table(std::move(spec), CodeTable::Kind::kTwosComplement);
  spec.zero.kind = Zero::Kind::kInteger;
  spec.zero.dtype = DType::kI8;
  return spec;
}

PackingSpec bnb_4bit(int64_t block) {
  PackingSpec spec = row_words(DType::kU8, 4, groups(block, DType::kF32));
  spec.symbol = Symbol::kTable;
  spec.law.slot_order = SlotOrder::kHighFirst;
  spec.law.axis = Axis::kFlat;
  spec.law.unit = UnitScope::kTensor;
  spec.scale.index = Scale::Index::kFlatBlock;
  return with_table(std::move(spec), CodeTable::Kind::kTensor);
}

PackingSpec bnb_nested() {
  PackingSpec spec = bnb_4bit(64);
  spec.scale.dtype = DType::kU8;
  spec.scale.nested_group = 256;
  spec.scale.nested_offset = 0.03125;
  return spec;
}

PackingSpec bnb_int8() {
  PackingSpec spec = row_words(DType::kI8, 8, groups(0, DType::kF32));
  spec.scale.factor = 1.0 / 127;
  return with_table(std::move(spec), CodeTable::Kind::kTwosComplement);
}

PackingSpec small_float(DType container, int bits, CodeTable::Kind table, Scale scale) {
  PackingSpec spec = with_table(row_words(container, bits, std::move(scale)), table);
  spec.symbol = Symbol::kFloat;
  return spec;
}

PackingSpec nvfp4(Scale::Global global) {
  PackingSpec spec = small_float(DType::kU8, 4, CodeTable::Kind::kE2M1, groups(16, DType::kF8E4M3));
  spec.scale.global = global;
  return spec;
}

PackingSpec onebit() {
  PackingSpec spec = row_words(DType::kI8, 1, groups(0, DType::kF16));
  spec.code_table = CodeTable::list({1.0, -1.0});
  spec.scale.index = Scale::Index::kRankOne;
  spec.post = Post::kLayerNorm;
  return spec;
}

PackingSpec trilm() {
  PackingSpec spec;
  spec.symbol = Symbol::kFloatContainer;
  spec.container = DType::kF16;
  spec.bits = spec.law.word_bits = 16;
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0});
  spec.scale.index = Scale::Index::kSegment;
  spec.scale.segments = 2;
  spec.scale.dtype = DType::kF16;
  spec.scale.place = Scale::Place::kImplicit;
  return spec;
}

}  // namespace

void add_library_rows(std::vector<CatalogueRow>& rows) {
  using Table = CodeTable::Kind;
  const std::string_view auto_gptq = "AutoGPTQ, nn_modules/qlinear";
  const std::string_view gptqmodel = "GPTQModel, nn_modules/qlinear";
  const std::string_view awq = "AutoAWQ, awq/modules/linear";
  const std::string_view compressed_tensors = "compressed-tensors pack-quantized";
  const std::string_view torchao = "torchao, prototype/dtypes/uintx";
  const std::string_view bnb = "bitsandbytes, functional.py";
  const std::string_view mlx_source = "mlx, backend/cpu/quantized.cpp";
  const std::string_view quanto_source = "optimum-quanto, tensor/packed.py";
  const std::string_view hqq_source = "hqq, core/bitpack.py";
  const Scale mx = groups(32, DType::kF8E8M0);
  rows.insert(
      rows.end(),
      {
          {"gptq-2bit", "GPTQ, 2 bit", auto_gptq, gptq(2, 64, true)},
          {"gptq-3bit", "GPTQ, 3 bit dense", auto_gptq, gptq(3, 64, true)},
          {"gptq-4bit", "GPTQ, 4 bit", auto_gptq, gptq(4, 128, true)},
          {"gptq-8bit", "GPTQ, 8 bit", auto_gptq, gptq(8, -1, true)},
          {"gptq-v2-4bit", "GPTQ v2, 4 bit", gptqmodel, gptq(4, 64, false)},
          {"gptq-v2-8bit", "GPTQ v2, 8 bit", gptqmodel, gptq(8, 64, false)},
          {"gptq-planar-3bit", "planar GPTQ (gptq_p), 3 bit", gptqmodel, gptq_planar({2, 1})},
          {"gptq-planar-7bit", "planar GPTQ (gptq_p), 7 bit", gptqmodel, gptq_planar({4, 2, 1})},
          {"auto-round-6bit", "auto-round in GPTQ's names, 6 bit dense", "auto-round, export",
           gptq(6, 32, true)},
          {"awq-gemm", "AWQ GEMM", awq, awq_gemm()},
          {"awq-gemv", "AWQ GEMV", awq, awq_gemv()},
          {"ct-2bit", "compressed-tensors, 2 bit", compressed_tensors, compressed(2, 64)},
          {"ct-4bit", "compressed-tensors, 4 bit", compressed_tensors, compressed(4, 128)},
          {"ct-4bit-asym", "compressed-tensors, 4 bit with zero points", compressed_tensors,
           with_integer_zeros(row_words(DType::kI32, 4, groups(32, DType::kBF16)), DType::kI32, 4,
                              Axis::kN)},
          {"ct-5bit", "compressed-tensors, 5 bit dense", compressed_tensors, compressed(5, 32)},
          {"hqq-2bit", "HQQ along K, 2 bit", hqq_source, hqq(2, 1)},
          {"hqq-4bit", "HQQ along K, 4 bit", hqq_source, hqq(4, 1)},
          {"hqq-4bit-axis0", "HQQ along N, 4 bit", hqq_source, hqq(4, 0)},
          {"quanto-int2", "quanto qint2", quanto_source, quanto(2)},
          {"quanto-int4", "quanto qint4", quanto_source, quanto(4)},
          {"mlx-2bit", "MLX affine, 2 bit", mlx_source, mlx(2, 128)},
          {"mlx-3bit", "MLX affine, 3 bit dense", mlx_source, mlx(3, 64)},
          {"mlx-4bit", "MLX affine, 4 bit", mlx_source, mlx(4, 64)},
          {"mlx-8bit", "MLX affine, 8 bit", mlx_source, mlx(8, 64)},
          {"torchao-uint2", "torchao uint2", torchao, torchao_uintx({2})},
          {"torchao-uint6", "torchao uint6 in shards of 4 and 2 bits", torchao,
           torchao_uintx({4, 2})},
          {"torchao-intx-3bit", "torchao int3 in int8", "torchao, quantization/intx",
           torchao_intx(3)},
          {"bnb-nf4", "bitsandbytes nf4", bnb, bnb_4bit(64)},
          {"bnb-nf4-nested", "bitsandbytes nf4 with quantised absmax", bnb, bnb_nested()},
          {"bnb-int8", "bitsandbytes int8 (absmax of a row, ÷ 127)", bnb, bnb_int8()},
          {"gemma-int4", "Gemma QAT mobile, 4 bit", "transformers, integrations/gemma_quant.py",
           with_table(row_words(DType::kU8, 4, groups(0, DType::kF32)), Table::kOffset, 8)},
          {"onnx-4bit", "ONNX MatMulNBits, 4 bit", "onnxruntime, MatMulNBits",
           with_integer_zeros(row_words(DType::kU8, 4, groups(32, DType::kF32)), DType::kU8, 4,
                              Axis::kK)},
          {"fp8-row", "float8 e4m3, one scale a row", "compressed-tensors float-quantized",
           small_float(DType::kF8E4M3, 8, Table::kNative, groups(0, DType::kBF16))},
          {"torchao-mxfp4", "MXFP4", "torchao, prototype/mx_formats",
           small_float(DType::kU8, 4, Table::kE2M1, mx)},
          {"torchao-mxfp8", "MXFP8 e4m3", "torchao, prototype/mx_formats",
           small_float(DType::kF8E4M3, 8, Table::kE4M3, mx)},
          {"ct-nvfp4", "NVFP4, global scale divides", "compressed-tensors nvfp4-pack-quantized",
           nvfp4(Scale::Global::kDivide)},
          {"onebit", "OneBit signs between two vectors", "OneBit, transformers/models/bitnet.py",
           onebit()},
          {"trilm-2shards", "TriLM unpacked, a scale of each half of the rows", "SpectraSuite",
           trilm()},
      });
}

}  // namespace trilith::packing
