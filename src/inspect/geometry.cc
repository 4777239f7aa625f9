#include "inspect/geometry.h"

#include <algorithm>
#include <cmath>

#include "packing/catalogue.h"

namespace trilith::inspect {
namespace {

using packing::Axis;
using packing::CodeTable;
using packing::Digits;
using packing::Orientation;
using packing::PackingSpec;
using packing::SlotOrder;
using packing::Stride;
using packing::Symbol;
using packing::UnitScope;

// Block planes of the widths that kernels load: 16 and 32 bytes.
constexpr int64_t kBlockStrides[] = {1, 16, 32};

// Every code as its own number.
CodeTable code_numbers(int bits) {
  return bits == 0 ? CodeTable::list({0.0, 1.0, 2.0}) : CodeTable::rule(CodeTable::Kind::kUnsigned);
}

PackingSpec bare_spec(Symbol symbol, int bits, DType container, int slots) {
  PackingSpec spec;
  spec.symbol = symbol;
  spec.bits = bits;
  spec.container = container;
  spec.law.word_bits = static_cast<int>(dtype_size(container)) * 8;
  spec.law.slots = slots;
  spec.code_table = code_numbers(bits);
  spec.scale.index = packing::Scale::Index::kNone;
  return spec;
}

std::vector<Stride> strides() {
  std::vector<Stride> result;
  for (const int64_t value : kBlockStrides) result.push_back({Stride::Kind::kFixed, value, 1});
  result.push_back({Stride::Kind::kExtentOverSlots, 1, 1});
  return result;
}

// `base` along both axes of both orientations.
void add_axes(std::vector<Geometry>& geometries, const Geometry& base) {
  for (const Orientation orient : {Orientation::kNK, Orientation::kKN}) {
    for (const Axis axis : {Axis::kK, Axis::kN}) {
      Geometry geometry = base;
      geometry.spec.orient = orient;
      geometry.spec.law.axis = axis;
      geometries.push_back(geometry);
    }
  }
}

void add_bit_fields(std::vector<Geometry>& geometries, DType dtype) {
  const int slots = static_cast<int>(dtype_size(dtype)) * 4;
  for (const SlotOrder order : {SlotOrder::kLowFirst, SlotOrder::kHighFirst}) {
    for (const Stride& stride : strides()) {
      Geometry geometry{bare_spec(Symbol::kInt, 2, dtype, slots), Cell::kTwoBits, 1};
      geometry.spec.law.slot_order = order;
      geometry.spec.law.stride = stride;
      add_axes(geometries, geometry);
    }
  }
}

void add_base3(std::vector<Geometry>& geometries, DType dtype) {
  for (const auto map : {Digits::Map::kPlain, Digits::Map::kCeil256}) {
    for (const auto order : {Digits::Order::kLsbFirst, Digits::Order::kMsbFirst}) {
      Geometry geometry{bare_spec(Symbol::kBase3, 0, dtype, 5), Cell::kBase3Plain, 1};
      geometry.spec.digits.map = map;
      geometry.spec.digits.order = order;
      if (map == Digits::Map::kCeil256) geometry.cell = Cell::kBase3Ceil256;
      add_axes(geometries, geometry);
    }
  }
}

void add_whole_bytes(std::vector<Geometry>& geometries, DType dtype) {
  for (const Orientation orient : {Orientation::kNK, Orientation::kKN}) {
    Geometry geometry{bare_spec(Symbol::kInt, 8, dtype, 1), Cell::kWholeByte, 1};
    geometry.spec.orient = orient;
    geometry.spec.law.axis = orient == Orientation::kNK ? Axis::kK : Axis::kN;
    geometries.push_back(geometry);
  }
}

void add_bit_planes(std::vector<Geometry>& geometries, DType dtype) {
  const int slots = static_cast<int>(dtype_size(dtype)) * 8;
  for (const SlotOrder order : {SlotOrder::kLowFirst, SlotOrder::kHighFirst}) {
    for (const Stride& stride : strides()) {
      Geometry geometry{bare_spec(Symbol::kBitPlanes, 2, dtype, slots), Cell::kTwoBits, 2};
      geometry.spec.planes = {packing::PlaneRole::kBit, packing::PlaneRole::kBit};
      geometry.spec.law.slot_order = order;
      geometry.spec.law.stride = stride;
      add_axes(geometries, geometry);
    }
  }
}

// Ternary levels, with a fourth code that occurs in few formats.
bool is_ternary(const packing::CodeTable& table) {
  return table.kind == packing::CodeTable::Kind::kList &&
         std::all_of(table.levels.begin(), table.levels.end(),
                     [](const auto& level) { return !level || std::fabs(*level) <= 2; });
}

// Named formats whose scales lie among the codes of a row.
void add_named_blocks(std::vector<Geometry>& geometries, DType dtype) {
  for (const packing::CatalogueRow& row : packing::catalogue()) {
    const auto place = row.spec.scale.place;
    if (row.spec.container != dtype || row.spec.symbol == Symbol::kFloatContainer ||
        place == packing::Scale::Place::kTensor || place == packing::Scale::Place::kImplicit ||
        row.spec.bits > 2 || !is_ternary(row.spec.code_table) || row.spec.law.axis != Axis::kK) {
      continue;
    }
    Geometry geometry{row.spec, Cell::kInline, 1, true};
    geometry.spec.code_table = code_numbers(row.spec.bits);
    geometries.push_back(std::move(geometry));
  }
}

// ±s and 0 as ordinary floats, one s a tensor or one a row.
void add_floats(std::vector<Geometry>& geometries, DType dtype) {
  for (const auto index : {packing::Scale::Index::kTensor, packing::Scale::Index::kRow}) {
    const int bits = static_cast<int>(dtype_size(dtype)) * 8;
    Geometry geometry{bare_spec(Symbol::kFloatContainer, bits, dtype, 1), Cell::kFloats, 1, true};
    geometry.spec.code_table = CodeTable::list({-1.0, 0.0, 1.0});
    geometry.spec.scale.index = index;
    geometry.spec.scale.place = packing::Scale::Place::kImplicit;
    geometry.spec.scale.dtype = dtype;
    geometries.push_back(std::move(geometry));
  }
}

Shape without_ones(const Shape& shape) {
  Shape kept;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept),
               [](int64_t dim) { return dim != 1; });
  return kept;
}

bool stores_as(const Geometry& geometry, int64_t rows, int64_t cols, const TensorView& codes) {
  const auto layout = packing::stored_layout(geometry.spec, rows, cols);
  if (!layout.ok()) return false;
  const auto stored = layout->find("codes");
  return stored != layout->end() && without_ones(stored->second.shape) == without_ones(codes.shape);
}

}  // namespace

std::vector<Geometry> enumerate_geometries(DType dtype, size_t code_tensors) {
  std::vector<Geometry> geometries;
  if (is_float(dtype)) add_floats(geometries, dtype);
  if (!is_integer(dtype)) return geometries;
  if (code_tensors == 2) {
    add_bit_planes(geometries, dtype);
    return geometries;
  }
  add_bit_fields(geometries, dtype);
  if (dtype_size(dtype) == 1) {
    add_base3(geometries, dtype);
    add_whole_bytes(geometries, dtype);
    add_named_blocks(geometries, dtype);
  }
  return geometries;
}

Fit unpadded_shape(const PackingSpec& spec, const TensorView& codes) {
  if (codes.shape.size() != 2) return {};
  const bool normal = spec.orient == Orientation::kNK;
  Fit fit{codes.shape[normal ? 0 : 1], codes.shape[normal ? 1 : 0]};
  (spec.law.axis == Axis::kK ? fit.cols : fit.rows) *= spec.law.slots;
  return fit;
}

std::vector<Fit> fitting_shapes(const Geometry& geometry, const TensorView& codes,
                                const std::vector<LogicalShape>& shapes) {
  std::vector<Fit> fits;
  if (shapes.empty()) {
    const Fit own = unpadded_shape(geometry.spec, codes);
    if (own.rows > 0 && stores_as(geometry, own.rows, own.cols, codes)) fits.push_back(own);
    return fits;
  }
  for (const LogicalShape& shape : shapes) {
    if (stores_as(geometry, shape.rows, shape.cols, codes)) {
      fits.push_back({shape.rows, shape.cols});
    }
  }
  return fits;
}

}  // namespace trilith::inspect
