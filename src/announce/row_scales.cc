#include "announce/row_scales.h"

#include <fmt/format.h>

#include <cmath>

namespace trilith::announce {

using packing::CodeTable;
using packing::Scale;

Status set_row_scale(packing::PackingSpec& spec, const TensorView& scale, int64_t rows,
                     int64_t cols, std::optional<int64_t> said_group) {
  spec.scale.dtype = scale.dtype;
  spec.scale.group = 0;
  const auto count = static_cast<int64_t>(scale.count());
  const int64_t last = scale.shape.empty() ? 1 : scale.shape.back();
  const bool by_rows = scale.shape.size() <= 2 && scale.dim(0) == rows;
  const bool grouped = said_group && *said_group > 0;
  if (grouped && by_rows && last == (cols + *said_group - 1) / *said_group) {
    spec.scale.index = Scale::Index::kRowGroup;
    spec.scale.group = *said_group;
    return {};
  }
  if (!grouped && count == 1) {
    spec.scale.index = Scale::Index::kTensor;
    return {};
  }
  if (!grouped && count == rows && by_rows) {
    spec.scale.index = Scale::Index::kRow;
    return {};
  }
  if (!said_group && scale.shape.size() == 2 && by_rows && cols % last == 0) {
    spec.scale.index = Scale::Index::kRowGroup;
    spec.scale.group = cols / last;
    return {};
  }
  return contradiction(scale.name, "the scales fit neither the matrix nor the announced group",
                       grouped
                           ? fmt::format("[{}, {}]", rows, (cols + *said_group - 1) / *said_group)
                           : fmt::format("[1], [{}], or [{}, groups]", rows, rows),
                       shape_string(scale.shape));
}

packing::PackingSpec plain_bytes(DType container, int bits) {
  packing::PackingSpec spec;
  spec.container = container;
  spec.bits = bits;
  if (is_float(container)) {
    spec.symbol = packing::Symbol::kFloat;
    spec.code_table = CodeTable::rule(CodeTable::Kind::kNative);
  } else {
    spec.code_table = CodeTable::rule(container == DType::kI8 ? CodeTable::Kind::kTwosComplement
                                                              : CodeTable::Kind::kUnsigned);
  }
  return spec;
}

packing::PackingSpec row_words(DType container, int bits) {
  packing::PackingSpec spec;
  spec.container = container;
  spec.bits = bits;
  spec.law.word_bits = static_cast<int>(dtype_size(container)) * 8;
  if (spec.law.word_bits % bits == 0) {
    spec.law.slots = spec.law.word_bits / bits;
  } else {
    spec.law.bitstream = packing::Bitstream::kLsbFirst;
  }
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  return spec;
}

void set_exponent_scale(packing::PackingSpec& spec, DType stored) {
  spec.scale.dtype = stored;
  if (stored == DType::kF8E8M0) return;
  spec.scale.op = Scale::Op::kMultiplyPowerOfTwo;
  spec.scale.factor = std::ldexp(1.0, -127);
}

}  // namespace trilith::announce
