#include "inspect/placement.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "inspect/name_roles.h"
#include "packing/codec.h"

namespace trilith::inspect {
namespace {

using packing::PackingSpec;

constexpr size_t kMostPlacements = 8;

Shape without_ones(const Shape& shape) {
  Shape kept;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept),
               [](int64_t dim) { return dim != 1; });
  return kept;
}

// Slots that no weight takes: a few at the end of a line, or the law is another one.
constexpr double kMostPadding = 0.15;

bool is_mostly_padding(const PackingSpec& spec, int64_t rows, int64_t cols, uint64_t bytes) {
  if (spec.law.unit == packing::UnitScope::kBlock) {
    const int64_t extent = spec.law.axis == packing::Axis::kN ? rows : cols;
    return extent % spec.law.block_elements != 0;
  }
  if (spec.law.bitstream != packing::Bitstream::kNone || !spec.law.sub_planes.empty() ||
      !spec.planes.empty() || !spec.law.sections.empty() ||
      spec.scale.index != packing::Scale::Index::kNone) {
    return false;
  }
  const double slots = static_cast<double>(bytes) * 8 / spec.law.word_bits * spec.law.slots;
  return static_cast<double>(rows * cols) < (1 - kMostPadding) * slots;
}

// A flat law takes any shape of as many elements.
bool stores(const CandidateLaw& law, int64_t rows, int64_t cols,
            const std::vector<const TensorView*>& codes) {
  const auto layout = packing::stored_layout(law.spec, rows, cols);
  if (!layout.ok()) return false;
  if (is_mostly_padding(law.spec, rows, cols, codes.front()->bytes.size())) return false;
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto entry = layout->find(i == 0 ? "codes" : "codes_" + std::to_string(i));
    if (entry == layout->end()) return false;
    const Shape want = without_ones(entry->second.shape);
    const Shape have = without_ones(codes[i]->shape);
    int64_t count = 1;
    for (const int64_t dim : have) count *= dim;
    if (want != have && !(want.size() == 1 && want.front() == count)) return false;
  }
  return true;
}

// The shape that a module states of itself: a tensor of two integers, or "shape": [N, K] in a text.
std::optional<std::pair<int64_t, int64_t>> stated_shape(const ClassModule& module) {
  for (const auto& [suffix, tensor] : module.parts) {
    if (is_integer(tensor->dtype) && dtype_size(tensor->dtype) >= 4 && tensor->count() == 2) {
      return std::pair{static_cast<int64_t>(element_as_double(*tensor, 0)),
                       static_cast<int64_t>(element_as_double(*tensor, 1))};
    }
    if (tensor->dtype != DType::kU8 || tensor->bytes.empty() ||
        tensor->bytes.front() != std::byte{'{'}) {
      continue;
    }
    const std::string_view text(reinterpret_cast<const char*>(tensor->bytes.data()),
                                tensor->bytes.size());
    const auto json = Json::parse(text);
    if (!json.ok()) continue;
    const Json::Array* shape = (*json)["shape"].as_array();
    if (shape == nullptr || shape->size() != 2) continue;
    const auto rows = (*shape)[0].as_integer();
    const auto cols = (*shape)[1].as_integer();
    if (rows && cols) return std::pair{*rows, *cols};
  }
  return std::nullopt;
}

// A name that says what a module is leaves only the shapes of that role.
std::vector<LogicalShape> shapes_of_name(const std::string& name,
                                         const std::vector<LogicalShape>& legal) {
  const auto id = id_from_name(name);
  std::vector<LogicalShape> own;
  if (id) {
    std::copy_if(
        legal.begin(), legal.end(), std::back_inserter(own), [&](const LogicalShape& shape) {
          return std::find(shape.roles.begin(), shape.roles.end(), id->role) != shape.roles.end();
        });
  }
  return own.empty() ? legal : own;
}

}  // namespace

std::vector<LogicalShape> all_shapes(const ConfigSizes& sizes) {
  std::vector<LogicalShape> shapes = linear_shapes(sizes);
  const auto add = [&](int64_t rows) {
    if (rows == 0 || sizes.hidden == 0) return;
    const bool known = std::any_of(shapes.begin(), shapes.end(), [&](const LogicalShape& shape) {
      return shape.rows == rows && shape.cols == sizes.hidden;
    });
    if (!known) shapes.push_back({rows, sizes.hidden, {}});
  };
  if (sizes.q_size() > 0) {
    add(sizes.q_size() + sizes.kv_size());
    add(sizes.q_size() + 2 * sizes.kv_size());
    add(2 * sizes.kv_size());
  }
  add(2 * sizes.intermediate);
  return shapes;
}

std::vector<std::vector<PackedModule>> place_modules(const StoredClass& stored,
                                                     const std::vector<std::string>& code_parts,
                                                     const CandidateLaw& law,
                                                     const std::vector<LogicalShape>& legal) {
  std::vector<std::vector<PackedModule>> placements{{}};
  size_t largest = 0;
  for (const ClassModule& module : stored.modules) {
    for (const auto& [suffix, tensor] : module.parts) {
      if (stored.lone) largest = std::max(largest, tensor->bytes.size());
    }
  }
  for (const ClassModule& module : stored.modules) {
    std::vector<const TensorView*> codes;
    for (const std::string& suffix : code_parts) {
      const auto part = module.parts.find(suffix);
      if (part == module.parts.end()) return {};
      codes.push_back(part->second);
    }
    const auto stated = stated_shape(module);
    std::vector<PackedModule> fits;
    const auto try_shape = [&](int64_t rows, int64_t cols) {
      if (!stores(law, rows, cols, codes)) return;
      PackedModule fit;
      fit.name = module.name;
      for (size_t i = 0; i < codes.size(); ++i) {
        fit.stored[i == 0 ? "codes" : "codes_" + std::to_string(i)] = codes[i];
      }
      fit.rows = rows;
      fit.cols = cols;
      fits.push_back(std::move(fit));
    };
    if (stated) {
      try_shape(stated->first, stated->second);
    } else {
      for (const LogicalShape& shape : shapes_of_name(module.name, legal)) {
        try_shape(shape.rows, shape.cols);
      }
    }
    if (fits.empty()) {
      // Among lone tensors small ones of the same type may be side data.
      if (stored.lone && codes.front()->bytes.size() * 8 < largest) continue;
      return {};
    }
    std::vector<std::vector<PackedModule>> longer;
    for (const auto& placement : placements) {
      for (const PackedModule& fit : fits) {
        if (longer.size() == kMostPlacements) break;
        longer.push_back(placement);
        longer.back().push_back(fit);
      }
    }
    placements = std::move(longer);
  }
  std::erase_if(placements, [](const auto& placement) { return placement.empty(); });
  return placements;
}

size_t surplus_modules(const std::vector<PackedModule>& placed,
                       const std::vector<LogicalShape>& legal, const ConfigSizes& sizes) {
  if (sizes.layers == 0 || sizes.experts) return 0;
  size_t surplus = 0;
  for (const LogicalShape& shape : legal) {
    const auto count = static_cast<size_t>(
        std::count_if(placed.begin(), placed.end(), [&shape](const PackedModule& module) {
          return module.rows == shape.rows && module.cols == shape.cols;
        }));
    const auto layers = static_cast<size_t>(sizes.layers);
    size_t places = shape.roles.empty() ? layers : 0;  // fused: one a layer
    for (const model::Role role : shape.roles) {
      places += role == model::Role::kLmHead ? 1 : layers;
    }
    surplus += count - std::min(count, places);
  }
  return surplus;
}

}  // namespace trilith::inspect
