// Profiles: the strength of every row and column of a decoded matrix, and which of them share an
// index space with which others (alignment.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "inspect/alignment.h"
#include "model/roles.h"
#include "packing/spec.h"

namespace trilith::inspect {

struct Profiles {
  std::vector<double> row_codes;   // mean of level² over a row
  std::vector<double> row_energy;  // the same times the row's scale²
  std::vector<double> col_energy;  // sum of (level · scale)² over a column
};

// `codes` [rows, cols]; `level_squared` of each code; `row_scale` one a row (already inverted where
// scales divide), or empty.
Profiles profile(std::span<const uint8_t> codes, int64_t rows, int64_t cols,
                 std::span<const double> level_squared, std::span<const double> row_scale);

// A linear with its profiles.
struct ProfiledModule {
  std::optional<model::ModuleId> id;
  int64_t rows = 0;
  int64_t cols = 0;
  Profiles profiles;
  std::vector<double> row_scale;
  // Scales of the columns, where there is one each: they stay in place whatever the order of the
  // codes, so the profiles leave them out.
  std::vector<double> col_scale;
};
// An unquantised neighbour: the gain of a norm, or the column strengths of the embedding.
struct ProfiledPlain {
  std::optional<model::ModuleId> id;
  std::vector<double> profile;
  const TensorView* tensor = nullptr;
};

// Pairs by role and layer where modules are identified, by size where they are not; those whose
// correlation depends on the order along `packed` are marked as tested. Of rows the codes alone are
// put into another order: their scales stay in place.
struct HeadSizes {
  int64_t kv_groups = 0;  // query heads per key head
  int64_t head_dim = 0;   // rows a head
};
std::vector<ProfilePair> pair_profiles(const std::vector<ProfiledModule>& modules,
                                       const std::vector<ProfiledPlain>& plain, HeadSizes heads,
                                       packing::Axis packed);

}  // namespace trilith::inspect
