#include "inspect/side_space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "inspect/grouping.h"
#include "inspect/side_indices.h"
#include "inspect/side_tensors.h"
#include "packing/codec.h"

namespace trilith::inspect {
namespace {

using packing::PackingSpec;
using packing::Scale;

// Nats against a reading that says nothing of a tensor lying beside the codes, and against one
// that takes a vector of the rows for a bias.
constexpr double kUnexplained = 400;
constexpr double kBias = 60;
constexpr double kActivation = 20;
// Nats for zero points that are the middle of the range, which no other reading makes them.
constexpr double kMiddle = 12;
// Nats for exponents of two where every scale is negative.
constexpr double kNegative = 7;
// Against a scale for each input: kernels cannot take it out of the sum, so few writers have it,
// and the same bytes read transposed have a scale for each output.
constexpr double kColumnScale = 25;
constexpr double kUnusual = 0.2;

using Choice = std::vector<const TensorView*>;  // one tensor a module

class SideSearch {
 public:
  SideSearch(const StoredClass& stored, const CandidateLaw& law,
             const std::vector<PackedModule>& placed, const ConfigSizes& sizes)
      : stored_(stored), law_(law), placed_(placed), sizes_(sizes) {}

  std::vector<SideReading> run() {
    const PackingSpec& bare = law_.spec;
    if (bare.scale.index != Scale::Index::kNone) {  // inside the codes
      finish(bare, placed_, "among the codes", false, law_.prior);
      return std::move(readings_);
    }
    add_tables(bare, placed_);
    for (const Scale& index : scale_indices(placed_.front().rows, sizes_)) {
      PackingSpec spec = bare;
      spec.scale = index;
      for (const Choice& choice : choices(spec, "scale", placed_, true)) {
        with_scale(spec, choice);
      }
    }
    return std::move(readings_);
  }

 private:
  std::optional<Shape> shape_of(const PackingSpec& spec, const std::string& role,
                                const PackedModule& module) const {
    const auto layout = packing::stored_layout(spec, module.rows, module.cols);
    if (!layout.ok()) return std::nullopt;
    const auto entry = layout->find(role);
    if (entry == layout->end()) return std::nullopt;
    return entry->second.shape;
  }

  static Shape without_ones(const Shape& shape) {
    Shape kept;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept),
                 [](int64_t dim) { return dim != 1; });
    return kept;
  }

  // The same dimensions, or those of a column (flattened).
  static bool agrees(const Shape& expected, const TensorView& tensor) {
    const Shape want = without_ones(expected);
    const Shape have = without_ones(tensor.shape);
    if (want == have) return true;
    int64_t count = 1;
    for (const int64_t dim : want) count *= dim;
    return have.size() == 1 && have.front() == count;
  }

  // The tensors that a role of `spec` can be, one a module, the same suffix (lone: dtype) in all.
  std::vector<Choice> choices(const PackingSpec& spec, const std::string& role,
                              const std::vector<PackedModule>& modules, bool smallest) {
    std::vector<Shape> shapes;
    for (const PackedModule& module : modules) {
      const auto shape = shape_of(spec, role, module);
      if (!shape) return {};
      shapes.push_back(*shape);
    }
    return stored_.lone ? lone_choices(shapes, modules, smallest) : common_choices(shapes, modules);
  }

  static bool is_taken(const PackedModule& module, const TensorView* tensor) {
    return std::any_of(module.stored.begin(), module.stored.end(),
                       [tensor](const auto& entry) { return entry.second == tensor; });
  }

  std::vector<Choice> common_choices(const std::vector<Shape>& shapes,
                                     const std::vector<PackedModule>& modules) const {
    std::vector<Choice> result;
    for (const auto& [suffix, unused] : stored_.modules.front().parts) {
      Choice choice;
      for (size_t m = 0; m < modules.size(); ++m) {
        const auto part = stored_.modules[m].parts.find(suffix);
        if (part == stored_.modules[m].parts.end()) break;
        if (is_taken(modules[m], part->second) || !agrees(shapes[m], *part->second)) break;
        choice.push_back(part->second);
      }
      if (choice.size() == modules.size()) result.push_back(std::move(choice));
    }
    return result;
  }

  std::vector<Choice> lone_choices(const std::vector<Shape>& shapes,
                                   const std::vector<PackedModule>& modules, bool smallest) {
    auto beside = neighbours(shapes, modules);
    beside_ = !beside.empty();
    if (beside_) return beside;
    std::set<const TensorView*> taken;
    for (const PackedModule& module : modules) {
      for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
    }
    std::vector<Choice> result;
    std::set<DType> dtypes;
    for (const TensorView* tensor : stored_.loose) dtypes.insert(tensor->dtype);
    for (const DType dtype : dtypes) {
      std::set<const TensorView*> used = taken;
      Choice choice;
      for (size_t m = 0; m < modules.size(); ++m) {
        std::vector<const TensorView*> fitting;
        for (const TensorView* tensor : stored_.loose) {
          if (tensor->dtype == dtype && !used.contains(tensor) && agrees(shapes[m], *tensor)) {
            fitting.push_back(tensor);
          }
        }
        if (fitting.empty()) break;
        keep_alike(fitting, modules[m]);
        ambiguous_ = ambiguous_ || fitting.size() > 2;
        const auto before = [](const TensorView* a, const TensorView* b) {
          return typical(*a) < typical(*b);
        };
        const auto chosen = smallest ? std::min_element(fitting.begin(), fitting.end(), before)
                                     : std::max_element(fitting.begin(), fitting.end(), before);
        used.insert(*chosen);
        choice.push_back(*chosen);
      }
      if (choice.size() != modules.size()) continue;
      in_name_order(shapes, choice);
      result.push_back(std::move(choice));
    }
    return result;
  }

  // Modules of one shape take their tensors in the order of names, as they come themselves.
  static void in_name_order(const std::vector<Shape>& shapes, Choice& choice) {
    for (size_t m = 0; m < shapes.size(); ++m) {
      for (size_t other = m + 1; other < shapes.size(); ++other) {
        if (shapes[m] == shapes[other] && natural_less(choice[other]->name, choice[m]->name)) {
          std::swap(choice[m], choice[other]);
        }
      }
    }
  }

  // The tensors that stand at one distance from the codes of all modules in name order, of one
  // dtype: writers keep the parts of a module together.
  std::vector<Choice> neighbours(const std::vector<Shape>& shapes,
                                 const std::vector<PackedModule>& modules) {
    std::vector<Choice> result;
    if (modules.size() < 2) return result;
    for (const std::ptrdiff_t step : {1, -1, 2, -2}) {
      Choice choice;
      for (size_t m = 0; m < modules.size(); ++m) {
        const TensorView* tensor = at_distance(*modules[m].stored.at("codes"), step);
        if (tensor == nullptr || !agrees(shapes[m], *tensor) || is_taken(modules[m], tensor)) break;
        if (!choice.empty() && choice.front()->dtype != tensor->dtype) break;
        choice.push_back(tensor);
      }
      if (choice.size() == modules.size()) result.push_back(std::move(choice));
    }
    return result;
  }

  const TensorView* at_distance(const TensorView& codes, std::ptrdiff_t step) {
    if (by_name_.empty()) {
      by_name_ = stored_.loose;
      std::sort(by_name_.begin(), by_name_.end(), [](const TensorView* a, const TensorView* b) {
        return natural_less(a->name, b->name);
      });
    }
    const auto own = std::find(by_name_.begin(), by_name_.end(), &codes);
    const std::ptrdiff_t place = own - by_name_.begin() + step;
    const bool inside = place >= 0 && place < static_cast<std::ptrdiff_t>(by_name_.size());
    return inside ? by_name_[static_cast<size_t>(place)] : nullptr;
  }

  // A zero point is stored with as many dimensions as its scale; of scales the ones with more.
  static void keep_alike(std::vector<const TensorView*>& fitting, const PackedModule& module) {
    const auto scale = module.stored.find("scale");
    size_t dims = 0;
    for (const TensorView* tensor : fitting) dims = std::max(dims, tensor->shape.size());
    if (scale != module.stored.end()) dims = scale->second->shape.size();
    const auto differs = [dims](const TensorView* t) { return t->shape.size() != dims; };
    if (!std::all_of(fitting.begin(), fitting.end(), differs)) std::erase_if(fitting, differs);
  }

  static std::vector<PackedModule> with_role(std::vector<PackedModule> modules,
                                             const std::string& role, const Choice& choice) {
    for (size_t m = 0; m < modules.size(); ++m) modules[m].stored[role] = choice[m];
    return modules;
  }

  // A float table of the levels, with or without scales.
  void add_tables(const PackingSpec& bare, const std::vector<PackedModule>& modules) {
    if (bare.bits < 2 || bare.symbol != packing::Symbol::kInt) return;
    PackingSpec spec = bare;
    spec.symbol = packing::Symbol::kTable;
    spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kTensor);
    const std::vector<Shape> shapes(modules.size(), Shape{int64_t{1} << bare.bits});
    for (const Choice& choice :
         stored_.lone ? lone_choices(shapes, modules, true) : common_choices(shapes, modules)) {
      if (!is_float(choice.front()->dtype)) continue;
      spec.code_table.dtype = choice.front()->dtype;
      const auto with_table = with_role(modules, "table", choice);
      finish(spec, with_table, "no scale", false, law_.prior);
      for (const Scale& index : scale_indices(placed_.front().rows, sizes_)) {
        PackingSpec scaled = spec;
        scaled.scale = index;
        for (const Choice& scale : choices(scaled, "scale", with_table, true)) {
          if (!is_float(scale.front()->dtype)) continue;
          scaled.scale.dtype = scale.front()->dtype;
          finish(scaled, with_role(with_table, "scale", scale), rule(), ambiguous_, law_.prior);
        }
      }
    }
  }

  std::string rule() const {
    if (!stored_.lone) return "common prefix";
    return beside_ ? "beside the codes in name order" : "only tensors of that size";
  }

  // Whether any row of scales is filled up at all; else the plain index says the same.
  static bool is_filled(const Choice& choice, const Scale& scale,
                        const std::vector<PackedModule>& modules) {
    for (size_t m = 0; m < choice.size(); ++m) {
      const int64_t groups = (modules[m].cols + scale.group - 1) / scale.group;
      if (static_cast<int64_t>(choice[m]->count()) != groups * modules[m].rows) return true;
    }
    return false;
  }

  // Finite, and zero only where a row of scales is filled up.
  static bool are_scales(const TensorView& tensor, const Scale& scale, const PackedModule& module) {
    int64_t used = 0;
    int64_t stored = 0;  // entries a row; 0: all are used
    if (scale.stored_multiple > 1) {
      used = (module.cols + scale.group - 1) / scale.group;
      stored = static_cast<int64_t>(tensor.count()) / module.rows;
    }
    for (uint64_t i = 0; i < tensor.count(); ++i) {
      if (stored > 0 && static_cast<int64_t>(i) % stored >= used) continue;
      const double value = element_as_double(tensor, i);
      if (!std::isfinite(value) || (value == 0 && is_float(tensor.dtype))) return false;
    }
    return true;
  }

  // 8-bit scales reach over few powers of two: a number beside them moves all of them.
  void with_global_scale(const PackingSpec& spec, const std::vector<PackedModule>& modules,
                         double nats) {
    const std::vector<Shape> shapes(modules.size(), Shape{1});
    for (const Choice& choice :
         stored_.lone ? lone_choices(shapes, modules, true) : common_choices(shapes, modules)) {
      if (choice.front()->dtype != DType::kF32) continue;
      for (const auto global : {Scale::Global::kMultiply, Scale::Global::kDivide}) {
        PackingSpec whole = spec;
        whole.scale.global = global;
        finish(whole, with_role(modules, "global_scale", choice), rule(), ambiguous_, nats);
      }
    }
  }

  void with_scale(PackingSpec spec, const Choice& choice) {
    const TensorView& first = *choice.front();
    spec.scale.dtype = first.dtype;
    double nats = law_.prior;
    if (is_integer(first.dtype)) {  // exponents of two, biased by 127 where they have no sign
      if (dtype_size(first.dtype) != 1) return;
      if (std::all_of(choice.begin(), choice.end(),
                      [](const TensorView* tensor) { return all_zero(*tensor); })) {
        return;
      }
      spec.scale.op = Scale::Op::kMultiplyPowerOfTwo;
      if (first.dtype == DType::kU8) spec.scale.factor = std::ldexp(1.0, -127);
    }
    if (spec.scale.index == Scale::Index::kColumn) nats -= kColumnScale;
    if (spec.scale.index == Scale::Index::kFlatBlock) nats -= kUnusual;
    if (spec.scale.index == Scale::Index::kModulo) nats -= kUnusual;
    if (spec.scale.stored_multiple > 1 && !is_filled(choice, spec.scale, placed_)) return;
    for (size_t m = 0; m < choice.size(); ++m) {
      if (!are_scales(*choice[m], spec.scale, placed_[m])) return;
    }
    const std::vector<PackedModule> modules = with_role(placed_, "scale", choice);
    finish(spec, modules, rule(), ambiguous_, nats);
    if (first.dtype == DType::kF8E4M3) with_global_scale(spec, modules, nats);
    if (is_float(first.dtype) && std::all_of(choice.begin(), choice.end(), all_negative)) {
      PackingSpec exponents = spec;
      exponents.scale.op = Scale::Op::kMultiplyPowerOfTwo;
      finish(exponents, modules, rule(), ambiguous_, nats + kNegative);
    }
    if (spec.symbol != packing::Symbol::kInt || spec.bits < 2) return;
    for (const PackingSpec& affine : with_zeros(spec)) {
      for (const Choice& zero : choices(affine, "zero", modules, false)) {
        if (zero.front()->dtype != affine.zero.dtype) continue;
        if (std::all_of(zero.begin(), zero.end(),
                        [](const TensorView* tensor) { return all_zero(*tensor); })) {
          continue;
        }
        const double symmetric = is_middle(affine, zero.front()) ? kMiddle : 0;
        finish(affine, with_role(modules, "zero", zero), rule(), ambiguous_, nats + symmetric);
      }
    }
  }

  // Accounts for the tensors that are left.
  void finish(PackingSpec spec, std::vector<PackedModule> modules, const std::string& rule,
              bool assumed, double nats) {
    if (!stored_.lone) {
      const auto& parts = stored_.modules.front().parts;
      for (const auto& [suffix, tensor] : parts) {
        const PackedModule& module = modules.front();
        if (is_taken(module, tensor)) continue;
        if (is_index(spec, suffix, modules)) {
          if (is_mute_everywhere(suffix, modules)) continue;
          for (size_t m = 0; m < modules.size(); ++m) {
            modules[m].stored["group_index"] = stored_.modules[m].parts.at(suffix);
          }
          spec.group_index = true;
          continue;
        }
        // A number beside 8-bit scales is the second level of theirs.
        if (is_scalar(*tensor) && is_float(tensor->dtype) && spec.scale.dtype == DType::kF8E4M3) {
          assumed = true;
          nats -= kUnexplained;
          continue;
        }
        if (is_mute_everywhere(suffix, modules)) continue;
        const bool bias = is_float(tensor->dtype) && is_of_rows(suffix, modules);
        // Single numbers beside the scales of the weights belong to the activations.
        const bool activation = is_float(tensor->dtype) && is_scalar(*tensor) &&
                                spec.scale.index != Scale::Index::kNone;
        nats -= bias ? kBias : activation ? kActivation : kUnexplained;
      }
      if (spec.scale.index == Scale::Index::kTensor) {  // one of several single numbers
        for (const auto& [suffix, tensor] : parts) {
          if (is_scalar(*tensor) && !is_taken(modules.front(), tensor) && is_float(tensor->dtype)) {
            assumed = true;
          }
        }
      }
    } else {
      nats -= kUnexplained * static_cast<double>(left_over(modules));
    }
    readings_.push_back({std::move(spec), std::move(modules), nats, rule, assumed});
  }

  // Loose tensors that nobody took and that index no residual channels, as norms and embeddings do.
  size_t left_over(const std::vector<PackedModule>& modules) const {
    std::set<const TensorView*> taken;
    std::set<int64_t> channels;
    for (const PackedModule& module : modules) {
      for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
      channels.insert({module.rows, module.cols});
    }
    return static_cast<size_t>(
        std::count_if(stored_.loose.begin(), stored_.loose.end(), [&](const TensorView* tensor) {
          if (taken.contains(tensor) || is_mute(*tensor, modules.front())) return false;
          if (!is_float(tensor->dtype) || tensor->shape.empty()) return true;
          return !channels.contains(tensor->shape.back());
        }));
  }

  bool is_of_rows(const std::string& suffix, const std::vector<PackedModule>& modules) const {
    for (size_t m = 0; m < modules.size(); ++m) {
      const auto part = stored_.modules[m].parts.find(suffix);
      if (part == stored_.modules[m].parts.end()) return false;
      if (part->second->count() != static_cast<uint64_t>(modules[m].rows)) return false;
    }
    return true;
  }

  bool is_mute_everywhere(const std::string& suffix,
                          const std::vector<PackedModule>& modules) const {
    for (size_t m = 0; m < modules.size(); ++m) {
      const auto part = stored_.modules[m].parts.find(suffix);
      if (part != stored_.modules[m].parts.end() && !is_mute(*part->second, modules[m])) {
        return false;
      }
    }
    return true;
  }

  bool is_index(const PackingSpec& spec, const std::string& suffix,
                const std::vector<PackedModule>& modules) const {
    if (spec.scale.index != Scale::Index::kRowGroup || spec.scale.group < 1) return false;
    for (size_t m = 0; m < modules.size(); ++m) {
      const auto part = stored_.modules[m].parts.find(suffix);
      if (part == stored_.modules[m].parts.end()) return false;
      const int64_t groups = (modules[m].cols + spec.scale.group - 1) / spec.scale.group;
      if (!is_column_index(*part->second, modules[m].cols, groups)) return false;
    }
    return true;
  }

  const StoredClass& stored_;
  const CandidateLaw& law_;
  const std::vector<PackedModule>& placed_;
  const ConfigSizes& sizes_;
  bool ambiguous_ = false;
  bool beside_ = false;                     // the last choice was by name order
  std::vector<const TensorView*> by_name_;  // the loose tensors
  std::vector<SideReading> readings_;
};

}  // namespace

std::vector<SideReading> side_readings(const StoredClass& stored, const CandidateLaw& law,
                                       const std::vector<PackedModule>& placed,
                                       const ConfigSizes& sizes) {
  return SideSearch(stored, law, placed, sizes).run();
}

}  // namespace trilith::inspect
