#include "packing/side_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "packing/k_quants.h"
#include "packing/numbers.h"
#include "packing/packed_zeros.h"

namespace trilith::packing {
namespace {

bool has_zeros(const Zero& zero) {
  return zero.kind != Zero::Kind::kNone && zero.kind != Zero::Kind::kConstant;
}

// The fields that hold something of `kind`, and the byte offset of each of its entries.
struct FieldPlaces {
  DType dtype = DType::kF32;
  int64_t count = 1;             // entries at each offset
  std::vector<int64_t> offsets;  // empty: there is no such field
};

const Field* find_field(std::span<const Field> fields, FieldKind kind) {
  for (const Field& field : fields) {
    if (field.kind == kind) return &field;
  }
  return nullptr;
}

FieldPlaces field_places(const Law& law, const Layout& layout, FieldKind kind) {
  FieldPlaces places;
  if (const Field* const field = find_field(law.fields, kind)) {
    places.dtype = field->dtype;
    places.count = field->count;
    const int64_t inside = field_offset(law.fields, kind, layout.code_bytes, layout.high_bytes);
    for (int64_t line = 0; line < layout.lines; ++line) {
      for (int64_t unit = 0; unit < layout.law.units(); ++unit) {
        places.offsets.push_back(layout.unit_offset(line, unit) + inside);
      }
    }
  } else if (const Field* const of_line = find_field(law.line_fields, kind)) {
    places.dtype = of_line->dtype;
    const int64_t units = layout.law.units() * layout.unit_bytes;
    const int64_t inside = field_offset(law.line_fields, kind, units);
    for (int64_t line = 0; line < layout.lines; ++line) {
      places.offsets.push_back(layout.line_offset(line) + inside);
    }
  } else if (const Field* const of_tensor = find_field(law.tensor_fields, kind)) {
    places.dtype = of_tensor->dtype;
    const int64_t lines = layout.lines * layout.line_bytes;
    places.offsets.push_back(field_offset(law.tensor_fields, kind, lines));
  }
  return places;
}

Status check_scale(const Scale& scale, double stored, int64_t index) {
  double effective = stored;
  if (scale.op == Scale::Op::kDivide) effective = 1 / stored;
  if (scale.op == Scale::Op::kMultiplyPowerOfTwo) effective = exp2_portable(stored);
  if (std::isfinite(stored) && std::isfinite(effective)) return {};
  return Error::damaged("a scale is not finite")
      .with_expected("finite scales")
      .with_found(fmt::format("{} at index {}", stored, index));
}

Status check_scales(const Scale& scale, std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    TRILITH_RETURN_IF_ERROR(
        check_scale(scale, static_cast<double>(values[i]), static_cast<int64_t>(i)));
  }
  return {};
}

std::vector<float> transposed(const std::vector<float>& values, int64_t outer, int64_t inner) {
  std::vector<float> result(values.size());
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) {
      result[static_cast<size_t>(j * outer + i)] = values[static_cast<size_t>(i * inner + j)];
    }
  }
  return result;
}

std::vector<float> without_filling(const std::vector<float>& values, const ScaleGrid& grid,
                                   const ScaleGrid& stored) {
  if (values.size() == static_cast<size_t>(grid.count())) return values;
  std::vector<float> kept;
  for (int64_t i = 0; i < grid.outer; ++i) {
    const auto row = values.begin() + i * stored.inner;
    kept.insert(kept.end(), row, row + grid.inner);
  }
  return kept;
}

// The filling is what bytes of 0 mean, which is no 0 in a type of exponents.
std::vector<float> with_filling(const std::vector<float>& values, const ScaleGrid& grid,
                                const ScaleGrid& stored, DType dtype) {
  const float nothing = dtype == DType::kF8E8M0 ? 0x1p-127F : 0.0F;
  std::vector<float> filled(static_cast<size_t>(stored.count()), nothing);
  for (int64_t i = 0; i < grid.outer; ++i) {
    std::copy_n(values.begin() + i * grid.inner, grid.inner, filled.begin() + i * stored.inner);
  }
  return filled;
}

// Codes into scales, rounded as float arithmetic rounds (bitsandbytes multiplies and adds so).
void read_nested(const Scale& scale, const TensorsByRole& tensors, std::vector<float>& values) {
  const std::vector<float> table = to_floats(tensors.at("scale_table"));
  const std::vector<float> factors = to_floats(tensors.at("scale_scale"));
  const auto group = static_cast<size_t>(scale.nested_group);
  for (size_t i = 0; i < values.size(); ++i) {
    const float level = table[static_cast<size_t>(values[i])];
    values[i] = level * factors[i / group] + static_cast<float>(scale.nested_offset);
  }
}

bool is_transposed(const Scale& scale) {
  return scale.index == Scale::Index::kRowGroup && scale.layout == Scale::Layout::kTransposed;
}

Result<std::vector<float>> read_fields(const FieldPlaces& places, const TensorView& tensor) {
  std::vector<std::byte> gathered;
  const size_t size = dtype_size(places.dtype);
  const size_t run = size * static_cast<size_t>(places.count);
  gathered.reserve(places.offsets.size() * run);
  for (const int64_t offset : places.offsets) {
    const auto entry = tensor.bytes.subspan(static_cast<size_t>(offset), run);
    gathered.insert(gathered.end(), entry.begin(), entry.end());
  }
  const auto count = static_cast<int64_t>(places.offsets.size()) * places.count;
  return exact_floats({tensor.name, places.dtype, {count}, gathered});
}

Status write_numbers(DType dtype, std::span<const float> values, std::byte* target) {
  for (size_t i = 0; i < values.size(); ++i) {
    TRILITH_RETURN_IF_ERROR(
        store_number(dtype, static_cast<double>(values[i]), target + i * dtype_size(dtype)));
  }
  return {};
}

Status write_fields(const FieldPlaces& places, std::span<const float> values,
                    std::span<std::byte> bytes) {
  const auto count = static_cast<size_t>(places.count);
  for (size_t i = 0; i < places.offsets.size(); ++i) {
    TRILITH_RETURN_IF_ERROR(write_numbers(places.dtype, values.subspan(i * count, count),
                                          bytes.data() + places.offsets[i]));
  }
  return {};
}

}  // namespace

Result<ScaleGrid> scale_grid(const PackingSpec& spec, const Layout& layout, int64_t rows,
                             int64_t cols) {
  const Scale& scale = spec.scale;
  const auto must_divide = [](int64_t extent, int64_t parts, const char* what) {
    return Error::damaged(fmt::format("the scales do not divide the {}", what))
        .with_expected(fmt::format("a multiple of {}", parts))
        .with_found(std::to_string(extent));
  };
  switch (scale.index) {
    case Scale::Index::kNone:
      return ScaleGrid{0, 0};
    case Scale::Index::kTensor:
      return ScaleGrid{1, 1};
    case Scale::Index::kRow:
    case Scale::Index::kRankOne:
      return ScaleGrid{rows, 1};
    case Scale::Index::kColumn:
      return ScaleGrid{cols, 1};
    case Scale::Index::kRowGroup:
      return ScaleGrid{rows, groups_of(cols, scale.group)};
    case Scale::Index::kBlock:
    case Scale::Index::kSubBlock: {
      const int64_t block = layout.law.unit_elements();
      if (scale.group < block && layout.law.extent() % block != 0) {
        return must_divide(layout.law.extent(), block, "packed axis");
      }
      return ScaleGrid{layout.lines, layout.law.units() * (block / scale.group)};
    }
    case Scale::Index::kFlatBlock:
      return ScaleGrid{groups_of(rows * cols, scale.group), 1};
    case Scale::Index::kModulo:
      if (rows * cols % scale.group != 0) {
        return must_divide(rows * cols, scale.group, "elements");
      }
      return ScaleGrid{rows * cols / scale.group, 1};
    case Scale::Index::kSegment: {
      const int64_t extent = scale.segment_axis == Axis::kN ? rows : cols;
      const auto& lengths = scale.segment_lengths;
      if (!lengths.empty()) {
        const int64_t sum = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
        if (sum != extent) return must_divide(extent, sum, "segmented axis");
        return ScaleGrid{scale.segments, 1};
      }
      if (extent % scale.segments != 0) {
        return must_divide(extent, scale.segments, "segmented axis");
      }
      return ScaleGrid{scale.segments, 1};
    }
  }
  return Error::unsupported("unknown scale index");
}

ScaleGrid stored_grid(const Scale& scale, ScaleGrid grid) {
  int64_t& count = scale.index == Scale::Index::kRowGroup ? grid.inner : grid.outer;
  count = groups_of(count, scale.stored_multiple) * scale.stored_multiple;
  return grid;
}

Scale matrix_scale(const PackingSpec& spec) {
  Scale scale = spec.scale;
  if (scale.index == Scale::Index::kBlock) {
    scale.segment_axis = spec.law.axis;
  }
  if (scale.index == Scale::Index::kSubBlock) {
    scale.index = Scale::Index::kRowGroup;
    scale.sub_layout = Scale::SubLayout::kNone;
  }
  return scale;
}

bool has_scale_tensor(const PackingSpec& spec) {
  return spec.scale.index != Scale::Index::kNone && spec.scale.place == Scale::Place::kTensor;
}

bool has_zero_tensor(const PackingSpec& spec) {
  const auto holds_minimum = [](std::span<const Field> fields) {
    return find_field(fields, FieldKind::kMin) != nullptr;
  };
  return has_zeros(spec.zero) && !holds_minimum(spec.law.fields) &&
         !holds_minimum(spec.law.line_fields) && !holds_minimum(spec.law.tensor_fields);
}

Result<StoredByRole> side_layout(const PackingSpec& spec, const Layout& layout, int64_t rows,
                                 int64_t cols) {
  StoredByRole stored;
  TRILITH_ASSIGN_OR_RETURN(ScaleGrid grid, scale_grid(spec, layout, rows, cols));
  grid = stored_grid(spec.scale, grid);
  const bool swapped = is_transposed(spec.scale);
  Shape shape;
  if (spec.scale.index == Scale::Index::kRowGroup || spec.scale.index == Scale::Index::kBlock) {
    shape = swapped ? Shape{grid.inner, grid.outer} : Shape{grid.outer, grid.inner};
  } else {
    shape = {grid.count()};
  }
  if (has_scale_tensor(spec)) stored["scale"] = {spec.scale.dtype, shape, {}};
  if (spec.scale.nested_group > 0) {
    stored["scale_table"] = {DType::kF32, {256}, {}};
    stored["scale_scale"] = {DType::kF32, {groups_of(grid.count(), spec.scale.nested_group)}, {}};
  }
  if (spec.scale.global != Scale::Global::kNone) stored["global_scale"] = {DType::kF32, {1}, {}};
  if (spec.scale.index == Scale::Index::kRankOne) {
    stored["column_scale"] = {spec.scale.dtype, {cols}, {}};
  }
  if (has_zero_tensor(spec)) {
    const Shape zero_shape =
        spec.zero.bits > 0 ? packed_zero_shape(spec.zero, grid, swapped) : shape;
    stored["zero"] = {spec.zero.dtype, zero_shape, {}};
  }
  if (spec.group_index) stored["group_index"] = {DType::kI32, {cols}, {}};
  return stored;
}

Status check_tensor(const TensorView& tensor, DType dtype, const Shape& shape) {
  if (tensor.dtype != dtype) {
    return Error::damaged("a tensor has another type than its format")
        .with_tensor(tensor.name)
        .with_expected(std::string(dtype_name(dtype)))
        .with_found(std::string(dtype_name(tensor.dtype)));
  }
  const auto bytes = byte_count(tensor.dtype, tensor.shape);
  if (!shape_agrees(shape, tensor.shape) || !bytes.ok() || *bytes != tensor.bytes.size()) {
    return Error::damaged("a tensor has another shape than its format")
        .with_tensor(tensor.name)
        .with_expected(shape_string(shape))
        .with_found(fmt::format("{} in {} bytes", shape_string(tensor.shape), tensor.bytes.size()));
  }
  return {};
}

Status read_side_data(const PackingSpec& spec, const Layout& layout, const TensorsByRole& tensors,
                      const TensorView& codes, QuantMatrix& matrix) {
  TRILITH_ASSIGN_OR_RETURN(const ScaleGrid grid,
                           scale_grid(spec, layout, matrix.rows, matrix.cols));
  const ScaleGrid stored = stored_grid(spec.scale, grid);
  const bool swapped = is_transposed(spec.scale);
  const auto named = [](Status status, const std::string& tensor) -> Status {
    if (status.ok()) return status;
    return std::move(status).error().with_tensor(tensor);
  };

  std::string scale_holder = codes.name;
  if (has_scale_tensor(spec)) {
    const TensorView& scale = tensors.at("scale");
    scale_holder = scale.name;
    TRILITH_ASSIGN_OR_RETURN(matrix.scales, exact_floats(scale));
    if (swapped) matrix.scales = transposed(matrix.scales, stored.inner, stored.outer);
    if (spec.scale.nested_group > 0) read_nested(spec.scale, tensors, matrix.scales);
    matrix.scales = without_filling(matrix.scales, grid, stored);
  } else if (spec.scale.index == Scale::Index::kSubBlock) {
    TRILITH_ASSIGN_OR_RETURN(SubScales two_levels, read_sub_scales(spec, layout, codes));
    matrix.scales = std::move(two_levels.scales);
    matrix.zeros = std::move(two_levels.minima);
  } else if (spec.scale.index != Scale::Index::kNone) {
    TRILITH_ASSIGN_OR_RETURN(matrix.scales,
                             read_fields(field_places(spec.law, layout, FieldKind::kScale), codes));
  }
  TRILITH_RETURN_IF_ERROR(named(check_scales(spec.scale, matrix.scales), scale_holder));
  if (spec.scale.global != Scale::Global::kNone) {
    const TensorView& global = tensors.at("global_scale");
    const auto value = static_cast<float>(element_as_double(global, 0));
    Scale whole;
    if (spec.scale.global == Scale::Global::kDivide) whole.op = Scale::Op::kDivide;
    TRILITH_RETURN_IF_ERROR(named(check_scales(whole, std::array{value}), global.name));
    matrix.global_scale = value;
  }
  if (spec.scale.index == Scale::Index::kRankOne) {
    const TensorView& factors = tensors.at("column_scale");
    TRILITH_ASSIGN_OR_RETURN(matrix.column_scales, exact_floats(factors));
    TRILITH_RETURN_IF_ERROR(named(check_scales(spec.scale, matrix.column_scales), factors.name));
  }

  if (has_zeros(spec.zero)) {
    std::string holder = codes.name;
    if (spec.scale.index == Scale::Index::kSubBlock) {
      // read with the scales
    } else if (!has_zero_tensor(spec)) {
      TRILITH_ASSIGN_OR_RETURN(matrix.zeros,
                               read_fields(field_places(spec.law, layout, FieldKind::kMin), codes));
    } else {
      const TensorView& zero = tensors.at("zero");
      holder = zero.name;
      if (spec.zero.bits > 0) {
        matrix.zeros = read_packed_zeros(spec.zero, grid, stored, swapped, zero.bytes);
      } else {
        TRILITH_ASSIGN_OR_RETURN(matrix.zeros, exact_floats(zero));
        if (swapped) matrix.zeros = transposed(matrix.zeros, stored.inner, stored.outer);
        matrix.zeros = without_filling(matrix.zeros, grid, stored);
        if (spec.zero.stored_minus_one) {
          for (float& value : matrix.zeros) value += 1;
        }
      }
    }
    for (const float value : matrix.zeros) {
      if (std::isfinite(value)) continue;
      return Error::damaged("a zero point is not finite").with_tensor(holder);
    }
  }

  if (spec.group_index) {
    const TensorView& groups = tensors.at("group_index");
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const auto group = load<int32_t>(groups.bytes.data(), static_cast<size_t>(k));
      if (group < 0 || group >= grid.inner) {
        return Error::damaged("a column belongs to no group")
            .with_tensor(groups.name)
            .with_expected(fmt::format("0 to {}", grid.inner - 1))
            .with_found(fmt::format("{} for column {}", group, k));
      }
      matrix.group_index.push_back(group);
    }
  }
  return {};
}

Status write_side_data(const PackingSpec& spec, const Layout& layout, const QuantMatrix& matrix,
                       std::span<std::byte> codes, StoredByRole& stored) {
  TRILITH_ASSIGN_OR_RETURN(const ScaleGrid grid,
                           scale_grid(spec, layout, matrix.rows, matrix.cols));
  if (spec.scale.index == Scale::Index::kSubBlock || spec.scale.nested_group > 0) {
    return Error::unsupported("scales that are products of two stored numbers cannot be written");
  }
  const ScaleGrid filled = stored_grid(spec.scale, grid);
  const bool swapped = is_transposed(spec.scale);
  const auto in_order = [&](const std::vector<float>& values, DType dtype) {
    const std::vector<float> rows = with_filling(values, grid, filled, dtype);
    return swapped ? transposed(rows, filled.outer, filled.inner) : rows;
  };
  if (has_scale_tensor(spec)) {
    StoredTensor& scale = stored.at("scale");
    TRILITH_RETURN_IF_ERROR(
        write_numbers(scale.dtype, in_order(matrix.scales, scale.dtype), scale.bytes.data()));
  } else if (spec.scale.index != Scale::Index::kNone) {
    TRILITH_RETURN_IF_ERROR(
        write_fields(field_places(spec.law, layout, FieldKind::kScale), matrix.scales, codes));
  }
  if (spec.scale.global != Scale::Global::kNone) {
    TRILITH_RETURN_IF_ERROR(write_numbers(DType::kF32, std::array{matrix.global_scale},
                                          stored.at("global_scale").bytes.data()));
  }
  if (spec.scale.index == Scale::Index::kRankOne) {
    StoredTensor& factors = stored.at("column_scale");
    TRILITH_RETURN_IF_ERROR(
        write_numbers(factors.dtype, matrix.column_scales, factors.bytes.data()));
  }
  if (has_zeros(spec.zero)) {
    if (!has_zero_tensor(spec)) {
      TRILITH_RETURN_IF_ERROR(
          write_fields(field_places(spec.law, layout, FieldKind::kMin), matrix.zeros, codes));
    } else if (spec.zero.bits > 0) {
      TRILITH_RETURN_IF_ERROR(write_packed_zeros(spec.zero, grid, filled, swapped, matrix.zeros,
                                                 stored.at("zero").bytes));
    } else {
      std::vector<float> zeros = matrix.zeros;
      if (spec.zero.stored_minus_one) {
        for (float& value : zeros) value -= 1;
      }
      StoredTensor& zero = stored.at("zero");
      TRILITH_RETURN_IF_ERROR(
          write_numbers(zero.dtype, in_order(zeros, zero.dtype), zero.bytes.data()));
    }
  }
  if (spec.group_index) {
    StoredTensor& groups = stored.at("group_index");
    for (size_t k = 0; k < matrix.group_index.size(); ++k) {
      const int32_t group = matrix.group_index[k];
      std::memcpy(groups.bytes.data() + k * sizeof group, &group, sizeof group);
    }
  }
  return {};
}

}  // namespace trilith::packing
