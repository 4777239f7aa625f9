#include "inspect/side_indices.h"

namespace trilith::inspect {

using packing::PackingSpec;
using packing::Scale;
using packing::Zero;

namespace {

constexpr int64_t kGroups[] = {8, 16, 32, 64, 128, 256, 512};
// Rows of scales may be filled up to a multiple of what a kernel loads.
constexpr int64_t kFillings[] = {4, 8, 16, 32};

// Rows of q, k and v, or of two of them, where that many rows are these joined.
std::vector<int64_t> joined_lengths(int64_t rows, const ConfigSizes& sizes) {
  const int64_t q = sizes.q_size();
  const int64_t kv = sizes.kv_size();
  if (q == 0 || kv == 0 || q == kv) return {};
  if (rows == q + kv) return {q, kv};
  if (rows == q + 2 * kv) return {q, kv, kv};
  return {};
}

}  // namespace

std::vector<Scale> scale_indices(int64_t rows, const ConfigSizes& sizes) {
  std::vector<Scale> scales;
  const auto add = [&](Scale::Index index, int64_t group) -> Scale& {
    Scale scale;
    scale.index = index;
    scale.group = group;
    scales.push_back(scale);
    return scales.back();
  };
  add(Scale::Index::kTensor, 0);
  add(Scale::Index::kRow, 0);
  for (const int64_t group : kGroups) {
    add(Scale::Index::kRowGroup, group);
    for (const int64_t filling : kFillings) {
      add(Scale::Index::kRowGroup, group).stored_multiple = filling;
    }
    add(Scale::Index::kRowGroup, group).layout = Scale::Layout::kTransposed;
    add(Scale::Index::kFlatBlock, group);
    add(Scale::Index::kModulo, group);
  }
  add(Scale::Index::kColumn, 0);
  const std::vector<int64_t> joined = joined_lengths(rows, sizes);
  for (const int64_t segments : {2, 3, 4}) {
    Scale& scale = add(Scale::Index::kSegment, 0);
    scale.segments = segments;
    if (static_cast<size_t>(segments) == joined.size()) scale.segment_lengths = joined;
  }
  return scales;
}

std::vector<PackingSpec> with_zeros(const PackingSpec& spec) {
  std::vector<PackingSpec> result;
  const auto add = [&](const Zero& zero) {
    result.push_back(spec);
    result.back().zero = zero;
  };
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    for (const auto kind : {Zero::Kind::kFloat, Zero::Kind::kFloatBias, Zero::Kind::kFloatShift}) {
      Zero zero;
      zero.kind = kind;
      zero.dtype = dtype;
      add(zero);
    }
  }
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kI32, DType::kU32, DType::kI16}) {
    Zero zero;
    zero.kind = Zero::Kind::kInteger;
    zero.dtype = dtype;
    add(zero);
    const int slots = static_cast<int>(dtype_size(dtype)) * 8 / spec.bits;
    if (slots < 2) continue;
    zero.bits = spec.bits;
    for (const auto axis : {packing::Axis::kN, packing::Axis::kK}) {
      zero.packed_axis = axis;
      for (const bool minus_one : {false, true}) {
        zero.stored_minus_one = minus_one;
        zero.slot_order = packing::SlotOrder::kLowFirst;
        zero.explicit_order.clear();
        add(zero);
        if (spec.law.bitstream != packing::Bitstream::kNone) {  // zero points straddle words too
          zero.bitstream = true;
          add(zero);
          zero.bitstream = false;
        }
        if (spec.law.slot_order == packing::SlotOrder::kLowFirst || spec.law.slots != slots) {
          continue;
        }
        zero.slot_order = spec.law.slot_order;
        zero.explicit_order = spec.law.explicit_order;
        add(zero);
      }
    }
  }
  return result;
}

}  // namespace trilith::inspect
