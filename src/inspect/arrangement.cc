#include "inspect/arrangement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/scale_direction.h"

namespace trilith::inspect {
namespace {

using packing::Scale;

bool counts(const TensorView& tensor, int64_t size) {
  return tensor.count() == static_cast<uint64_t>(size);
}

// By size alone; of a square matrix a vector counts as row scales.
std::optional<Scale::Index> scale_index_of(const TensorView& tensor, int64_t rows, int64_t cols) {
  if (counts(tensor, rows)) return Scale::Index::kRow;
  if (counts(tensor, 1)) return Scale::Index::kTensor;
  if (counts(tensor, cols)) return Scale::Index::kColumn;
  return std::nullopt;
}

bool fits_index(const TensorView& tensor, Scale::Index index, int64_t rows, int64_t cols) {
  return counts(tensor, index == Scale::Index::kRow      ? rows
                        : index == Scale::Index::kColumn ? cols
                                                         : 1);
}

// Scales before biases: a name that says so, else the only one whose values can be scales.
const TensorView* choose_scale(const std::vector<const Part*>& floats, int64_t rows, int64_t cols) {
  const TensorView* chosen = nullptr;
  for (const Part* part : floats) {
    if (!scale_index_of(*part->tensor, rows, cols) || part->suffix.ends_with("bias")) continue;
    if (!can_be_scales(to_floats(*part->tensor))) continue;
    if (chosen == nullptr || part->suffix.find("scale") != std::string::npos) chosen = part->tensor;
  }
  return chosen;
}

const TensorView* choose_bias(const std::vector<const Part*>& floats, int64_t rows,
                              const TensorView* scale) {
  for (const Part* part : floats) {
    if (part->tensor != scale && part->tensor->count() == static_cast<uint64_t>(rows)) {
      return part->tensor;
    }
  }
  return nullptr;
}

// Legal shapes of a module: the one its name's role has, else all.
std::vector<LogicalShape> shapes_for(const std::optional<model::ModuleId>& id,
                                     const std::vector<LogicalShape>& shapes) {
  if (!id) return shapes;
  std::vector<LogicalShape> own;
  for (const LogicalShape& shape : shapes) {
    if (std::find(shape.roles.begin(), shape.roles.end(), id->role) != shape.roles.end()) {
      own.push_back(shape);
    }
  }
  return own.empty() ? shapes : own;
}

std::string shape_list(const std::vector<LogicalShape>& shapes) {
  std::string text;
  for (const LogicalShape& shape : shapes) {
    if (!text.empty()) text += ", ";
    text += fmt::format("[{}, {}]", shape.rows, shape.cols);
  }
  return text;
}

class Arranger {
 public:
  Arranger(const std::vector<const CodeGroup*>& groups, const ConfigSizes& sizes,
           const IdsByName& ids, bool lone)
      : groups_(groups), shapes_(linear_shapes(sizes)), ids_(ids), lone_(lone) {}

  ArrangementSearch run() {
    ArrangementSearch search;
    size_t nearest = 0;
    const TensorView& first = *groups_.front()->codes.front()->tensor;
    for (const Geometry& geometry :
         enumerate_geometries(first.dtype, groups_.front()->codes.size())) {
      Arrangement arrangement;
      arrangement.geometry = geometry;
      size_t placed = 0;
      std::string reason = place_all(arrangement, placed);
      if (reason.empty() && lone_ && !geometry.has_scale) reason = match_lone(arrangement);
      if (reason.empty()) {
        search.found.push_back(std::move(arrangement));
      } else if (search.reason.empty() || placed > nearest) {
        nearest = placed;
        search.module = placed < groups_.size() ? groups_[placed]->name : "";
        search.reason = reason;
      }
    }
    if (search.found.empty() && search.reason.empty()) {
      search.module = groups_.front()->name;
      search.reason =
          fmt::format("no packing known here stores codes in {} tensors", dtype_name(first.dtype));
    }
    return search;
  }

 private:
  // "" when every group found its place, else why the first one did not.
  std::string place_all(Arrangement& arrangement, size_t& placed) const {
    for (const CodeGroup* group : groups_) {
      PackedModule module;
      module.name = group->name;
      if (const auto id = ids_.find(group->name); id != ids_.end()) module.id = id->second;
      for (size_t plane = 0; plane < group->codes.size(); ++plane) {
        const std::string role = plane == 0 ? "codes" : fmt::format("codes_{}", plane);
        module.stored[role] = group->codes[plane]->tensor;
      }
      std::string reason = place(*group, arrangement, module);
      if (!reason.empty()) return reason;
      arrangement.modules.push_back(std::move(module));
      ++placed;
    }
    return "";
  }

  std::string place(const CodeGroup& group, Arrangement& arrangement, PackedModule& module) const {
    const TensorView& codes = *group.codes.front()->tensor;
    const std::vector<LogicalShape> legal = shapes_for(module.id, shapes_);
    const std::vector<Fit> fits = fitting_shapes(arrangement.geometry, codes, legal);
    if (fits.empty()) {
      return fmt::format(
          "codes of shape {} {} are no packed form of a matrix this config allows ({})",
          shape_string(codes.shape), dtype_name(codes.dtype), shape_list(legal));
    }
    for (const Fit& fit : fits) {
      module.rows = fit.rows;
      module.cols = fit.cols;
      if (lone_ || arrangement.geometry.has_scale) return "";
      const TensorView* scale = choose_scale(group.floats, fit.rows, fit.cols);
      if (scale == nullptr) continue;
      module.stored["scale"] = scale;
      module.bias = choose_bias(group.floats, fit.rows, scale);
      arrangement.scale_rule = "common prefix";
      return set_scale(arrangement.scale, *scale, fit.rows, fit.cols);
    }
    return scale_problem(group, fits.front().rows);
  }

  static std::string set_scale(std::optional<Scale>& agreed, const TensorView& scale, int64_t rows,
                               int64_t cols) {
    const auto index = scale_index_of(scale, rows, cols);
    if (!index) return fmt::format("scale '{}' fits neither rows nor columns", scale.name);
    Scale found;
    found.index = agreed && fits_index(scale, agreed->index, rows, cols) ? agreed->index : *index;
    found.dtype = scale.dtype;
    if (agreed && !(*agreed == found)) {
      return fmt::format("scale '{}' has another form than those of the modules before it",
                         scale.name);
    }
    agreed = found;
    return "";
  }

  static std::string scale_problem(const CodeGroup& group, int64_t rows) {
    if (group.floats.empty()) return "no scale lies beside the codes";
    const TensorView& nearest = *group.floats.front()->tensor;
    if (nearest.count() == static_cast<uint64_t>(rows) || nearest.count() == 1) {
      return fmt::format("'{}' cannot be a scale: zero, not finite, or of both signs",
                         nearest.name);
    }
    return fmt::format("no scale of {} values or of one value lies beside the codes; '{}' has {}",
                       rows, nearest.name, nearest.count());
  }

  // Lone tensors: the next (or the previous) one in name order where that fits everywhere, else by
  // size.
  std::string match_lone(Arrangement& arrangement) const {
    for (const int step : {1, -1}) {
      if (match_neighbours(arrangement, step)) {
        arrangement.scale_rule =
            step > 0 ? "next tensor in name order" : "previous tensor in name order";
        return "";
      }
    }
    return match_by_size(arrangement);
  }

  bool match_neighbours(Arrangement& arrangement, int step) const {
    std::vector<PackedModule> modules = arrangement.modules;
    std::optional<Scale> agreed;
    for (size_t i = 0; i < modules.size(); ++i) {
      const Part* neighbour = neighbour_of(modules[i].name, groups_[i]->floats, step);
      if (neighbour == nullptr) return false;
      const TensorView& scale = *neighbour->tensor;
      if (!set_scale(agreed, scale, modules[i].rows, modules[i].cols).empty()) return false;
      modules[i].stored["scale"] = &scale;
    }
    arrangement.modules = std::move(modules);
    arrangement.scale = agreed;
    return true;
  }

  // The float vector next to `name`, if nothing that holds codes lies between.
  const Part* neighbour_of(const std::string& name, const std::vector<const Part*>& vectors,
                           int step) const {
    const auto before = [step](const std::string& a, const std::string& b) {
      return step > 0 ? natural_less(a, b) : natural_less(b, a);
    };
    const Part* nearest = nullptr;
    for (const Part* part : vectors) {
      if (!before(name, part->tensor->name)) continue;
      if (nearest == nullptr || before(part->tensor->name, nearest->tensor->name)) nearest = part;
    }
    if (nearest == nullptr) return nullptr;
    for (const CodeGroup* group : groups_) {
      if (before(name, group->name) && before(group->name, nearest->tensor->name)) return nullptr;
    }
    return nearest;
  }

  // Row scales where vectors of those sizes are left for all, else one number a matrix, else
  // columns.
  std::string match_by_size(Arrangement& arrangement) const {
    std::string first_reason;
    for (const auto index : {Scale::Index::kRow, Scale::Index::kTensor, Scale::Index::kColumn}) {
      const std::string reason = match_index(arrangement, index);
      if (reason.empty()) return "";
      if (first_reason.empty()) first_reason = reason;
    }
    return first_reason;
  }

  std::string match_index(Arrangement& arrangement, Scale::Index index) const {
    std::vector<PackedModule> modules = arrangement.modules;
    std::optional<Scale> agreed;
    std::set<const TensorView*> used;
    bool assumed = false;
    for (size_t i = 0; i < modules.size(); ++i) {
      PackedModule& module = modules[i];
      std::vector<const Part*> fitting;
      for (const Part* part : groups_[i]->floats) {
        const TensorView& tensor = *part->tensor;
        if (!fits_index(tensor, index, module.rows, module.cols) || used.contains(&tensor))
          continue;
        if (!agreed || agreed->dtype == tensor.dtype) fitting.push_back(part);
      }
      if (fitting.empty()) {
        return fmt::format("no vector of {} values is left that could scale the codes",
                           module.rows);
      }
      assumed = assumed || fitting.size() > 1;
      const TensorView& scale = *fitting.front()->tensor;
      agreed = Scale{};
      agreed->index = index;
      agreed->dtype = scale.dtype;
      used.insert(&scale);
      module.stored["scale"] = &scale;
    }
    arrangement.scale = agreed;
    arrangement.modules = std::move(modules);
    arrangement.scale_assumed = assumed;
    arrangement.scale_rule =
        assumed ? "name order among vectors of that size" : "only vector of that size";
    return "";
  }

  const std::vector<const CodeGroup*>& groups_;
  std::vector<LogicalShape> shapes_;
  const IdsByName& ids_;
  bool lone_;
};

}  // namespace

ArrangementSearch arrange(const std::vector<const CodeGroup*>& groups, const ConfigSizes& sizes,
                          const IdsByName& ids, bool lone) {
  return Arranger(groups, sizes, ids, lone).run();
}

}  // namespace trilith::inspect
