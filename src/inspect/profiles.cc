#include "inspect/profiles.h"

#include <algorithm>
#include <string>

#include "base/byte_counts.h"

namespace trilith::inspect {
namespace {

using model::Role;

bool has_role(const ProfiledModule& module, std::initializer_list<Role> roles) {
  return module.id && std::find(roles.begin(), roles.end(), module.id->role) != roles.end();
}

std::string role_text(const std::optional<model::ModuleId>& id) {
  return id ? std::string(model::role_name(id->role)) : "a module";
}

bool same_layer(const std::optional<model::ModuleId>& a, const std::optional<model::ModuleId>& b) {
  return !a || !b || a->layer < 0 || b->layer < 0 || a->layer == b->layer;
}

// Rows of v, one head after the other, repeated as the query heads use them.
std::vector<double> expand_heads(const std::vector<double>& rows, HeadSizes heads) {
  std::vector<double> expanded;
  const auto head = static_cast<std::ptrdiff_t>(heads.head_dim);
  for (auto first = rows.begin(); rows.end() - first >= head && head > 0; first += head) {
    for (int64_t copy = 0; copy < heads.kv_groups; ++copy) {
      expanded.insert(expanded.end(), first, first + head);
    }
  }
  return expanded;
}

class PairCollector {
 public:
  PairCollector(const std::vector<ProfiledModule>& modules, const std::vector<ProfiledPlain>& plain,
                HeadSizes heads, packing::Axis packed)
      : modules_(modules),
        plain_(plain),
        heads_(heads),
        tests_columns_(packed != packing::Axis::kN),
        tests_rows_(packed != packing::Axis::kK) {}

  std::vector<ProfilePair> collect() {
    for (const ProfiledModule& module : modules_) {
      add("rows of a module / their scales", module.profiles.row_codes, {}, module.row_scale,
          tests_rows_);
      add_group([&] { add_plain_columns(module); });
      add_group([&] { add_plain_scales(module); });
      add_group([&] { add_plain_rows(module); });
      add_group([&] { add_siblings(module, Kin::kNeurons); });
      add_group([&] { add_siblings(module, Kin::kStream); });
      add_group([&] { add_siblings(module, Kin::kScales); });
    }
    return std::move(pairs_);
  }

 private:
  void add(std::string what, const std::vector<double>& a, const std::vector<double>& fixed,
           const std::vector<double>& b, bool tested) {
    if (a.size() != b.size() || a.size() < 2) return;
    pairs_.push_back({std::move(what), a, b, fixed, tested});
  }

  // What stays in place when the codes of rows are in another order: energy over that of the codes.
  static std::vector<double> fixed_of(const ProfiledModule& module) {
    std::vector<double> fixed = module.profiles.row_energy;
    for (size_t n = 0; n < fixed.size(); ++n) {
      const double codes = module.profiles.row_codes[n];
      fixed[n] = codes > 0 ? fixed[n] / codes : 0;
    }
    return fixed;
  }

  // Pairs of one profile.
  template <typename Adds>
  void add_group(Adds adds) {
    const size_t start = pairs_.size();
    adds();
    for (size_t i = start + 1; i < pairs_.size(); ++i) pairs_[i].repeats = true;
  }

  // One profile of a module against all plain neighbours over its index space.
  void add_neighbours(const std::string& what, const ProfiledModule& module,
                      const std::vector<double>& profile, const std::vector<double>& fixed,
                      bool tested) {
    for (const ProfiledPlain& plain : plain_) {
      if (!plausible(module, plain)) continue;
      add(what + role_text(module.id) + " / " + role_text(plain.id), profile, fixed, plain.profile,
          tested);
    }
  }

  static bool reads_stream(const ProfiledModule& module) {
    return !module.id || !has_role(module, {Role::kOProj, Role::kDownProj});
  }
  static bool writes_stream(const ProfiledModule& module) {
    return !module.id || has_role(module, {Role::kOProj, Role::kDownProj});
  }

  // Columns that read the residual stream against norms and embedding; rows that write to it too.
  void add_plain_columns(const ProfiledModule& module) {
    if (!reads_stream(module)) return;
    add_neighbours("columns of ", module, module.profiles.col_energy, {}, tests_columns_);
  }
  void add_plain_scales(const ProfiledModule& module) {
    if (!reads_stream(module)) return;
    add_neighbours("scales of columns of ", module, module.col_scale, {}, false);
  }
  void add_plain_rows(const ProfiledModule& module) {
    if (!writes_stream(module)) return;
    add_neighbours("rows of ", module, module.profiles.row_codes, fixed_of(module), tests_rows_);
  }

  // A norm belongs to the linears that read its output, where both are known.
  static bool plausible(const ProfiledModule& module, const ProfiledPlain& plain) {
    if (!plain.id || !module.id) return true;
    if (!same_layer(module.id, plain.id)) return false;
    switch (plain.id->role) {
      case Role::kInputNorm:
        return has_role(module, {Role::kQProj, Role::kKProj, Role::kVProj});
      case Role::kPostNorm:
        return has_role(module, {Role::kGateProj, Role::kUpProj});
      case Role::kEmbedding:
        return true;
      default:
        return false;
    }
  }

  // neurons: rows of up and columns of down, which go along with each other in either direction (at
  // +0.9 in SmolLM2-135M, at -0.45 in models/sample). stream: channels of the residual stream and
  // of the values. scales: those of columns, which stay where they are.
  enum class Kin { kNeurons, kStream, kScales };

  // Columns of what reads an index space against rows of what writes it. Where the order of rows
  // is in question, a writer and its readers make a group, else a reader and its writers.
  void add_siblings(const ProfiledModule& module, Kin kin) {
    const bool by_rows = tests_rows_ && !tests_columns_;
    for (const ProfiledModule& other : modules_) {
      if (&other == &module || !same_layer(module.id, other.id)) continue;
      if (by_rows) {
        add_pair(other, module, kin, true);
      } else {
        add_pair(module, other, kin, false);
      }
    }
  }

  void add_pair(const ProfiledModule& reader, const ProfiledModule& writer, Kin kin, bool by_rows) {
    const bool known = reader.id && writer.id;
    const bool neurons = known ? has_role(reader, {Role::kDownProj}) &&
                                     has_role(writer, {Role::kGateProj, Role::kUpProj})
                               : reader.cols == writer.rows && reader.rows == writer.cols &&
                                     reader.cols != reader.rows;
    const bool stream = known &&
                        has_role(reader, {Role::kQProj, Role::kKProj, Role::kVProj, Role::kGateProj,
                                          Role::kUpProj}) &&
                        has_role(writer, {Role::kOProj, Role::kDownProj});
    const bool values =
        known && has_role(reader, {Role::kOProj}) && has_role(writer, {Role::kVProj});
    const std::string what =
        "columns of " + role_text(reader.id) + " / rows of " + role_text(writer.id);
    if (kin == Kin::kScales) {
      if (neurons || stream) {
        add("scales of " + what, reader.col_scale, {}, writer.profiles.row_energy, false);
      }
      return;
    }
    if (kin == Kin::kNeurons ? !neurons : !stream && !values) return;
    if (values) {
      if (!by_rows) {
        add(what, reader.profiles.col_energy, {}, expand_heads(writer.profiles.row_energy, heads_),
            tests_columns_);
      }
    } else if (by_rows) {
      add(what, writer.profiles.row_codes, fixed_of(writer), reader.profiles.col_energy, true);
    } else {
      add(what, reader.profiles.col_energy, {}, writer.profiles.row_energy, tests_columns_);
    }
  }

  const std::vector<ProfiledModule>& modules_;
  const std::vector<ProfiledPlain>& plain_;
  HeadSizes heads_;
  bool tests_columns_;
  bool tests_rows_;
  std::vector<ProfilePair> pairs_;
};

}  // namespace

Profiles profile(std::span<const uint8_t> codes, int64_t rows, int64_t cols,
                 std::span<const double> level_squared, std::span<const double> row_scale) {
  Profiles profiles;
  profiles.row_codes.resize(static_cast<size_t>(rows));
  profiles.row_energy.resize(static_cast<size_t>(rows));
  profiles.col_energy.resize(static_cast<size_t>(cols));
  const auto width = static_cast<size_t>(cols);
  for (size_t n = 0; n < static_cast<size_t>(rows); ++n) {
    const double scale = row_scale.empty() ? 1 : row_scale[n] * row_scale[n];
    const std::span<const uint8_t> row = codes.subspan(n * width, width);
    ByteCounts counts{};
    add_byte_counts(row, counts);
    double sum = 0;
    for (size_t code = 0; code < level_squared.size(); ++code) {
      if (counts[code] > 0) sum += static_cast<double>(counts[code]) * level_squared[code];
    }
    for (size_t k = 0; k < width; ++k) profiles.col_energy[k] += level_squared[row[k]] * scale;
    profiles.row_codes[n] = sum / static_cast<double>(cols);
    profiles.row_energy[n] = profiles.row_codes[n] * scale;
  }
  return profiles;
}

std::vector<ProfilePair> pair_profiles(const std::vector<ProfiledModule>& modules,
                                       const std::vector<ProfiledPlain>& plain, HeadSizes heads,
                                       packing::Axis packed) {
  return PairCollector(modules, plain, heads, packed).collect();
}

}  // namespace trilith::inspect
