#include "inspect/code_finder.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace trilith::inspect {
namespace {

constexpr size_t kFewestBytes = 64;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// A zero point that is zero everywhere says nothing: the format is symmetric.
bool is_empty_zero_point(const Part& part) {
  return part.summary->distinct == 1 && part.summary->max == 0 && part.tensor->shape.size() < 2;
}

// A lower triangle of one value below another: a causal mask.
bool is_triangular(const TensorView& tensor, const TensorSummary& summary) {
  const size_t dims = tensor.shape.size();
  if (summary.distinct != 2 || dims < 2) return false;
  const int64_t side = tensor.shape[dims - 1];
  if (side < 2 || tensor.shape[dims - 2] != side) return false;
  if (tensor.count() != static_cast<uint64_t>(side * side)) return false;
  const double below = element_as_double(tensor, 0);
  for (int64_t row = 0; row < side; ++row) {
    for (int64_t col = 0; col < side; ++col) {
      const double value = element_as_double(tensor, static_cast<uint64_t>(row * side + col));
      if ((value == below) != (col <= row)) return false;
    }
  }
  return true;
}

// A matrix of −s, 0 and +s with one s a row. Dense matrices fail on their first row.
bool is_ternary_float(const TensorView& tensor) {
  if (!is_float(tensor.dtype) || tensor.shape.size() != 2 || tensor.shape[1] < 8) return false;
  uint64_t zeros = 0;
  uint64_t positive = 0;
  uint64_t negative = 0;
  for (int64_t row = 0; row < tensor.shape[0]; ++row) {
    double magnitude = 0;
    for (int64_t col = 0; col < tensor.shape[1]; ++col) {
      const double value =
          element_as_double(tensor, static_cast<uint64_t>(row * tensor.shape[1] + col));
      if (value == 0) {
        ++zeros;
        continue;
      }
      if (magnitude == 0) magnitude = std::abs(value);
      if (std::abs(value) != magnitude) return false;
      ++(value > 0 ? positive : negative);
    }
  }
  return zeros > 0 && positive > 0 && negative > 0;
}

bool may_hold_codes(const Part& part) {
  const TensorView& tensor = *part.tensor;
  if (is_ternary_float(tensor)) return true;
  if (!is_integer(tensor.dtype) || tensor.bytes.size() < kFewestBytes) return false;
  if (part.summary->counting || is_triangular(tensor, *part.summary)) return false;
  if (is_empty_zero_point(part)) return false;
  return !contains_any(tensor.name, {"position_ids", "token_type_ids", "mask"});
}

// "mask" is also what the plane beside a plane of signs is called.
bool is_plane_called_mask(const Part& part, const StoredModule& module) {
  const TensorView& tensor = *part.tensor;
  if (!is_integer(tensor.dtype) || !contains_any(part.suffix, {"mask"})) return false;
  return std::any_of(module.parts.begin(), module.parts.end(), [&](const Part& other) {
    return &other != &part && may_hold_codes(other) && other.tensor->dtype == tensor.dtype &&
           other.tensor->shape == tensor.shape;
  });
}

bool may_hold_scales(const Part& part) {
  return is_float(part.tensor->dtype) && !part.suffix.ends_with("bias") && part.summary->nan == 0 &&
         (part.summary->min > 0 || part.summary->max < 0);
}

CodeGroup make_group(const StoredModule& module, FoundCodes& found) {
  CodeGroup group;
  group.name = module.name;
  for (const Part& part : module.parts) {
    if (may_hold_codes(part) || is_plane_called_mask(part, module)) {
      group.codes.push_back(&part);
    } else if (is_float(part.tensor->dtype)) {
      group.floats.push_back(&part);
    } else {
      found.plain.push_back(&part);
    }
  }
  if (group.codes.size() > 1) {
    const TensorView& first = *group.codes.front()->tensor;
    const bool alike = std::all_of(group.codes.begin(), group.codes.end(), [&](const Part* part) {
      return part->tensor->dtype == first.dtype && part->tensor->shape == first.shape;
    });
    if (!alike || group.codes.size() > 2) {
      group.problem = "several integer tensors that are not two equal bit planes";
    }
  }
  return group;
}

// Lone float vectors that can be scales, by dtype; the dtype whose vectors are as many as the code
// tensors is taken, and within it each code tensor takes the next unused vector of a fitting size.
void match_lone_scales(FoundCodes& found) {
  std::vector<const Part*> vectors;
  for (const Part* part : found.plain) {
    const bool vector = part->tensor->shape.size() <= 1 ||
                        part->tensor->count() == static_cast<uint64_t>(part->tensor->shape[0]);
    if (part->suffix.empty() && vector && may_hold_scales(*part)) vectors.push_back(part);
  }
  std::vector<DType> dtypes;
  for (const Part* part : vectors) dtypes.push_back(part->tensor->dtype);
  std::sort(dtypes.begin(), dtypes.end());
  dtypes.erase(std::unique(dtypes.begin(), dtypes.end()), dtypes.end());
  const auto count_of = [&](DType dtype) {
    return static_cast<size_t>(std::count_if(vectors.begin(), vectors.end(), [&](const Part* part) {
      return part->tensor->dtype == dtype;
    }));
  };
  const auto exact = std::find_if(dtypes.begin(), dtypes.end(), [&](DType dtype) {
    return count_of(dtype) == found.groups.size();
  });
  found.scales_by_size = true;
  for (CodeGroup& group : found.groups) {
    for (const Part* part : vectors) {
      if (exact == dtypes.end() || part->tensor->dtype == *exact) group.floats.push_back(part);
    }
  }
}

}  // namespace

FoundCodes find_codes(const std::vector<StoredModule>& modules) {
  FoundCodes found;
  bool any_pair = false;
  for (const StoredModule& module : modules) {
    const bool packed = std::any_of(module.parts.begin(), module.parts.end(), may_hold_codes);
    if (!packed) {
      for (const Part& part : module.parts) found.plain.push_back(&part);
      continue;
    }
    any_pair = any_pair || module.parts.size() > 1;
    found.groups.push_back(make_group(module, found));
  }
  if (!any_pair && !found.groups.empty()) match_lone_scales(found);
  return found;
}

}  // namespace trilith::inspect
