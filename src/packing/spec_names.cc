#include "packing/spec_names.h"

#include <fmt/format.h>

namespace trilith::packing {
namespace {

bool is_flattened(const PackingSpec& spec) {
  return spec.law.unit == UnitScope::kTensor && spec.law.axis != Axis::kFlat &&
         (spec.law.axis == Axis::kK) != (spec.orient == Orientation::kNK);
}

}  // namespace

std::string sign_magnitude_word(int bits) {
  return fmt::format("bit {} sign, bits 0-{} magnitude", bits - 1, bits - 2);
}

std::string table_tensor_word(int bits) {
  return fmt::format("tensor in the file [{}]", bits >= 0 && bits <= 8 ? 1 << bits : 0);
}

bool has_worded_stride(const PackingSpec& spec) {
  return spec.law.stride.kind == Stride::Kind::kExtentOverSlots || is_flattened(spec);
}

std::string stride_word(const PackingSpec& spec) {
  const Law& law = spec.law;
  if (law.stride.kind == Stride::Kind::kExtentOverSlots) {
    if (is_flattened(spec)) return fmt::format("N*K/{}", law.slots);
    const bool grouped_view = law.axis == Axis::kFlat && law.stride.granule > 1;
    return grouped_view ? "ceil(rows_of_grouped_view/slots)*cols" : "extent/slots";
  }
  const char* const row = spec.orient == Orientation::kNK ? "K" : "N";
  return law.stride.value == 1 ? row : fmt::format("{}*{}", law.stride.value, row);
}

}  // namespace trilith::packing
