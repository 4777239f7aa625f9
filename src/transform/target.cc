#include "transform/target.h"

#include <fmt/format.h>

#include <algorithm>

namespace trilith::transform {
namespace {

using packing::PackingSpec;
using packing::Scale;

// What packing::encode refuses: products of two stored numbers.
bool can_be_written(const PackingSpec& spec) {
  return spec.scale.index != Scale::Index::kSubBlock && spec.scale.nested_group == 0;
}

// "TQ2_0": "tq2_0".
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// Types of ggml itself that the catalogue can write; each under its name with "gguf-" before it.
std::vector<Target> gguf_targets() {
  std::vector<Target> all;
  for (const checkpoint::GgmlType& type : checkpoint::ggml_types()) {
    if (type.family != "ggml") continue;
    const std::string name = lower(type.name);
    const std::string title = fmt::format("GGUF file, linears as {}", type.name);
    if (type.plain == DType::kF32 || type.plain == DType::kF16 || type.plain == DType::kBF16) {
      all.push_back({"gguf-" + name, title, type.plain, nullptr, nullptr, &type});
      continue;
    }
    const packing::CatalogueRow* const row = packing::find_format(name);
    if (row == nullptr || !can_be_written(row->spec)) continue;
    all.push_back({"gguf-" + name, title, std::nullopt, row, nullptr, &type});
  }
  return all;
}

std::vector<Target> all_targets() {
  std::vector<Target> all = {{"f32", "dense float32", DType::kF32, nullptr, nullptr, nullptr},
                             {"f16", "dense float16", DType::kF16, nullptr, nullptr, nullptr},
                             {"bf16", "dense bfloat16", DType::kBF16, nullptr, nullptr, nullptr}};
  for (const packing::CatalogueRow& row : packing::catalogue()) {
    if (!can_be_written(row.spec)) continue;
    all.push_back({std::string(row.name), std::string(row.title), std::nullopt, &row,
                   library_of(row), nullptr});
  }
  for (Target& target : gguf_targets()) all.push_back(std::move(target));
  return all;
}

bool is_grouped(const Scale& scale) {
  return (scale.index == Scale::Index::kRowGroup && scale.place == Scale::Place::kTensor) ||
         scale.index == Scale::Index::kFlatBlock;
}

// HQQ and quanto pack the lines of a view whose rows are groups.
void set_group(PackingSpec& spec, int64_t group) {
  spec.scale.group = group;
  if (spec.regroup.group > 0) spec.regroup.group = group;
  if (spec.law.stride.granule > 1) spec.law.stride.granule = group;
  if (spec.scale.stored_multiple > 1) {  // AWQ gemv fills rows of groups by the group's size
    spec.scale.stored_multiple = group >= 128 ? 8 : group == 64 ? 16 : 32;
  }
}

void set_whole_rows(PackingSpec& spec, Library::WholeRow how) {
  if (how == Library::WholeRow::kMinusOne) {
    spec.scale.group = -1;
    return;
  }
  spec.scale.index = Scale::Index::kRow;
  spec.scale.layout = Scale::Layout::kRowMajor;
  spec.scale.group = 0;
  spec.regroup.group = 0;
  spec.zero.packed_axis = packing::Axis::kN;
}

bool is_half_or_single(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = all_targets();
  return kTargets;
}

Result<const Target*> find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  if (found != targets().end()) return &*found;
  Error error = Error::usage(fmt::format("there is no format '{}' to convert to", name));
  if (packing::find_format(name) != nullptr) {
    error.message = fmt::format(
        "{} is read, but cannot be written: its scales are products of two "
        "stored numbers",
        name);
  } else if (const auto* unread = packing::find_unread_format(name)) {
    error.message = fmt::format("{} is known by name alone", unread->title);
  }
  return std::move(error).with_hint("`trilith convert --to list` names the formats");
}

Result<PackingSpec> grouped_spec(const Target& target, const ScaleGrain& grain, int64_t wanted) {
  PackingSpec spec = target.row->spec;
  if (!is_grouped(spec.scale)) {
    if (wanted == 0) return spec;
    return Error::usage(fmt::format("{} has no groups to choose the size of", target.name));
  }
  const std::vector<int64_t> none;
  const auto& allowed = target.library != nullptr ? target.library->groups : none;
  const auto whole =
      target.library != nullptr ? target.library->whole_row : Library::WholeRow::kRow;
  if (wanted > 0) {
    if (!allowed.empty() && std::ranges::find(allowed, wanted) == allowed.end()) {
      return Error::usage(fmt::format("{} takes no groups of {}", target.name, wanted))
          .with_expected(fmt::format("{}", fmt::join(allowed, " or ")));
    }
    set_group(spec, wanted);
    return spec;
  }
  // The source's own groups; a scale of a whole row may be repeated in any that divide it.
  const int64_t unit = grain.group > 0 ? grain.group : grain.common;
  if (!allowed.empty() || whole == Library::WholeRow::kNever) {
    for (const int64_t group : allowed) {
      if (unit % group != 0) continue;
      set_group(spec, group);
      return spec;
    }
    return Error::unsupported(
               fmt::format("{} takes no groups that divide those of the source", target.name))
        .with_expected(fmt::format("a multiple of {}", fmt::join(allowed, " or ")))
        .with_found(fmt::format("{} inputs a scale", unit));
  }
  if (grain.group > 0) {
    set_group(spec, grain.group);
  } else if (spec.scale.index == Scale::Index::kFlatBlock) {
    set_group(spec, grain.common);
  } else {
    set_whole_rows(spec, whole);
    if (spec.law.stride.granule > 1) spec.law.stride.granule = -1;  // one row of the matrix
  }
  return spec;
}

std::vector<PackingSpec> with_scale_types(const Target& target, const PackingSpec& spec) {
  std::vector<PackingSpec> all = {spec};
  if (spec.scale.place != Scale::Place::kTensor || !is_half_or_single(spec.scale.dtype)) return all;
  std::vector<DType> types = {DType::kF16, DType::kBF16, DType::kF32};
  if (target.library != nullptr && !target.library->scale_types.empty()) {
    types = target.library->scale_types;
  }
  for (const DType dtype : types) {
    if (dtype == spec.scale.dtype) continue;
    PackingSpec other = spec;
    other.scale.dtype = dtype;
    if (is_half_or_single(other.zero.dtype) && other.zero.bits == 0) other.zero.dtype = dtype;
    all.push_back(std::move(other));
  }
  return all;
}

}  // namespace trilith::transform
