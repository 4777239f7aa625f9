#include "announce/gguf_types.h"

#include "announce/source.h"
#include "packing/catalogue.h"

namespace trilith::announce {
namespace {

using packing::PackingSpec;

// Types of a fork that differ from a row of the catalogue in the size of their block alone.
struct OtherSize {
  std::string_view type;
  std::string_view row;
  int64_t elements;
};
constexpr OtherSize kOtherSizes[] = {{"Q1_0_G32", "q1_0", 32}, {"Q2_0_G128", "q2_0", 128}};

// The catalogue has ggml's own table, doubled so that levels are integers; a sheet names the float.
PackingSpec in_e2m1(PackingSpec spec) {
  spec.symbol = packing::Symbol::kFloat;
  spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kE2M1);
  spec.scale.factor = 1;
  return spec;
}

}  // namespace

std::optional<PackingSpec> spec_of_type(const checkpoint::GgmlType& type) {
  for (const OtherSize& other : kOtherSizes) {
    if (other.type != type.name) continue;
    PackingSpec spec = packing::find_format(other.row)->spec;
    spec.law.block_elements = spec.scale.group = other.elements;
    return spec;
  }
  // The catalogue calls types what their projects call them.
  const packing::CatalogueRow* const row = packing::find_format(lower(type.name));
  if (row == nullptr) return std::nullopt;
  if (type.name == "MXFP4" || type.name == "NVFP4") return in_e2m1(row->spec);
  return row->spec;
}

}  // namespace trilith::announce
