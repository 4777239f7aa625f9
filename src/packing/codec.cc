#include "packing/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/codes.h"
#include "packing/float_container.h"
#include "packing/numbers.h"
#include "packing/side_data.h"
#include "packing/tiles.h"

namespace trilith::packing {
namespace {

// Everything about the planes of a spec for one matrix.
struct Planes {
  std::vector<CodePlane> planes;
  StoredByRole stored;  // the code tensors, without bytes
};

std::string role_of_plane(size_t plane) {
  return plane == 0 ? "codes" : fmt::format("codes_{}", plane);
}

bool has_tensor_a_plane(const PackingSpec& spec) {
  return !spec.stacked_planes && !planes_share_units(spec);
}

// Where plane `index` lies.
std::string holder_of_plane(const PackingSpec& spec, size_t index) {
  return role_of_plane(has_tensor_a_plane(spec) ? index : 0);
}

Result<Planes> planes_for(const PackingSpec& spec, int64_t rows, int64_t cols) {
  Planes result;
  int shift = 0;
  for (const PlaneWidth& width : planes_of(spec)) {
    TRILITH_ASSIGN_OR_RETURN(Layout layout, Layout::make(spec, width, rows, cols));
    const size_t plane = result.planes.size();
    if (plane == 0 || has_tensor_a_plane(spec)) {
      result.stored[role_of_plane(plane)] = {spec.container, layout.shape, {}};
    }
    result.planes.push_back(
        {std::move(layout), WordCodes(spec, width.width), spec.law, width, shift});
    shift += width.width;
  }
  if (spec.stacked_planes) {
    Shape shape = result.planes.front().layout.shape;
    shape.insert(shape.begin(), static_cast<int64_t>(result.planes.size()));
    result.stored["codes"] = {spec.container, std::move(shape), {}};
  }
  return result;
}

// The bytes of one plane, in its own tensor or as a slice of a stacked one.
template <typename Byte>
std::span<Byte> bytes_of_plane(const PackingSpec& spec, const CodePlane& plane, size_t index,
                               std::span<Byte> tensor) {
  if (!spec.stacked_planes) return tensor;
  const auto size = static_cast<size_t>(plane.layout.total_bytes);
  return tensor.subspan(index * size, size);
}

Status require_supported(const PackingSpec& spec) {
  const auto refuse = [](const std::string& what) {
    return Error::unsupported(what + " cannot be decoded by this build");
  };
  if (spec.symbol == Symbol::kPair && spec.law.tile.kind != TileMap::Kind::kTl1) {
    return refuse("pair symbols (two trits in a nibble) outside TL1");
  }
  if (spec.symbol == Symbol::kTriple) return refuse("triple symbols (magnitude and sign)");
  switch (spec.law.tile.kind) {
    case TileMap::Kind::kNone:
    case TileMap::Kind::kBitnetGpu:
    case TileMap::Kind::kTl1:
    case TileMap::Kind::kTmac:
      break;
    case TileMap::Kind::kTl2:
      return refuse("the tile order TL2 (two kinds of symbols and sizes that the file lacks)");
  }
  for (const auto* fields : {&spec.law.fields, &spec.law.line_fields, &spec.law.tensor_fields}) {
    for (const Field& field : *fields) {
      if (field.kind == FieldKind::kSigns) return refuse("separate signs inside a block");
    }
  }
  if (spec.symbol != Symbol::kBitPlanes && !spec.planes.empty()) {
    return refuse("a sum of several ternary planes");
  }
  if (spec.row_map.kind != RowMap::Kind::kIdentity) return refuse("permuted rows");
  const bool flat_index =
      spec.scale.index == Scale::Index::kFlatBlock || spec.scale.index == Scale::Index::kModulo ||
      (spec.scale.index == Scale::Index::kBlock && spec.law.axis == Axis::kFlat);
  if (flat_index && spec.orient == Orientation::kKN) {
    return refuse("a scale index over the flattened transposed matrix");
  }
  return {};
}

// What decode and encode have in common before any data is touched.
struct Plan {
  Planes planes;
  StoredByRole stored;  // every tensor, without bytes
};

Result<Plan> plan_for(const PackingSpec& spec, int64_t rows, int64_t cols) {
  TRILITH_RETURN_IF_ERROR(validate(spec));
  TRILITH_RETURN_IF_ERROR(require_supported(spec));
  Plan plan;
  TRILITH_ASSIGN_OR_RETURN(plan.planes, planes_for(spec, rows, cols));
  TRILITH_ASSIGN_OR_RETURN(plan.stored,
                           side_layout(spec, plan.planes.planes.front().layout, rows, cols));
  plan.stored.insert(plan.planes.stored.begin(), plan.planes.stored.end());
  if (spec.code_table.kind == CodeTable::Kind::kTensor) {
    plan.stored["table"] = {spec.code_table.dtype, {int64_t{1} << spec.bits}, {}};
  }
  return plan;
}

Status check_tensors(const Plan& plan, const TensorsByRole& tensors) {
  for (const auto& [role, wanted] : plan.stored) {
    const auto found = tensors.find(role);
    if (found == tensors.end()) {
      return Error::damaged(fmt::format("the packed matrix lacks its tensor '{}'", role))
          .with_expected(
              fmt::format("{} {}", dtype_name(wanted.dtype), shape_string(wanted.shape)));
    }
    auto status = check_tensor(found->second, wanted.dtype, wanted.shape);
    if (!status.ok()) return std::move(status).error().with_context("role '" + role + "'");
  }
  for (const auto& [role, tensor] : tensors) {
    if (plan.stored.contains(role)) continue;
    return Error::damaged(fmt::format("the format has no tensor '{}'", role))
        .with_tensor(tensor.name);
  }
  return {};
}

void transpose(const std::vector<uint8_t>& from, int64_t outer, int64_t inner,
               std::vector<uint8_t>& to) {
  constexpr int64_t kTile = 64;  // both sides of a tile stay in the first-level cache
  to.resize(from.size());
  for (int64_t i0 = 0; i0 < outer; i0 += kTile) {
    for (int64_t j0 = 0; j0 < inner; j0 += kTile) {
      const int64_t i1 = std::min(outer, i0 + kTile);
      const int64_t j1 = std::min(inner, j0 + kTile);
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) {
          to[static_cast<size_t>(j * outer + i)] = from[static_cast<size_t>(i * inner + j)];
        }
      }
    }
  }
}

std::string position(const QuantMatrix& matrix, int64_t index) {
  return fmt::format("row {}, column {}", index / matrix.cols, index % matrix.cols);
}

Status read_codes(const PackingSpec& spec, const Planes& planes, const TensorsByRole& tensors,
                  QuantMatrix& matrix) {
  if (spec.law.tile.kind != TileMap::Kind::kNone) {
    return read_tiles(spec, tensors.at("codes"), matrix);
  }
  std::vector<uint8_t> codes(static_cast<size_t>(matrix.rows * matrix.cols));
  for (size_t i = 0; i < planes.planes.size(); ++i) {
    const CodePlane& plane = planes.planes[i];
    const TensorView& tensor = tensors.at(holder_of_plane(spec, i));
    const auto bytes = bytes_of_plane(spec, plane, i, tensor.bytes);
    if (const InvalidWords invalid = find_invalid_words(plane, bytes); invalid.count > 0) {
      int64_t index = std::max<int64_t>(invalid.first, 0);
      if (spec.orient == Orientation::kKN) {
        index = index % matrix.rows * matrix.cols + index / matrix.rows;
      }
      return Error::damaged(fmt::format("{} words are outside the code's alphabet", invalid.count))
          .with_tensor(tensor.name)
          .with_expected(plane.words.is_base3() ? "numbers of base-3 digits"
                                                : "no bits outside the fields of a word")
          .with_found(fmt::format("{:#x} at {}", invalid.word, position(matrix, index)));
    }
    extract_codes(plane, bytes, codes);
  }
  if (spec.orient == Orientation::kNK) {
    matrix.codes = std::move(codes);
  } else {
    transpose(codes, matrix.cols, matrix.rows, matrix.codes);
  }
  return {};
}

Status settle_unused_codes(const TensorView& codes, const DecodeOptions& options,
                           QuantMatrix& matrix) {
  const QuantMatrix::Unused unused = matrix.unused_codes();
  if (unused.count == 0) return {};
  const uint8_t code = matrix.codes[static_cast<size_t>(unused.first)];
  if (!options.unused_as_zero) {
    return Error::damaged(fmt::format("{} weights have a code without a level", unused.count))
        .with_tensor(codes.name)
        .with_expected("only codes of the code table")
        .with_found(fmt::format("code {} at {}", code, position(matrix, unused.first)))
        .with_hint("another code table may be meant; --unused-as-zero reads them as 0");
  }
  for (auto& level : matrix.levels) {
    if (!level) level = 0.0;
  }
  return {};
}

int bits_of_codes(const PackingSpec& spec) {
  if (spec.symbol == Symbol::kBitPlanes) return static_cast<int>(spec.planes.size());
  if (spec.symbol != Symbol::kFloatContainer) return spec.bits;
  int bits = 1;
  while ((size_t{1} << bits) < spec.code_table.levels.size()) ++bits;
  return bits;
}

Status write_table(const QuantMatrix& matrix, StoredTensor& table) {
  const size_t size = dtype_size(table.dtype);
  for (size_t code = 0; code < table.bytes.size() / size; ++code) {
    if (code >= matrix.levels.size() || !matrix.levels[code]) {
      return Error::usage("a table in the file needs a level for every code");
    }
    TRILITH_RETURN_IF_ERROR(
        store_number(table.dtype, *matrix.levels[code], table.bytes.data() + code * size));
  }
  return {};
}

Status check_matrix(const PackingSpec& spec, const Plan& plan, const QuantMatrix& matrix) {
  const auto count_is = [](const char* what, size_t found, int64_t expected) -> Status {
    if (static_cast<int64_t>(found) == expected) return {};
    return Error::usage(fmt::format("the matrix has another number of {} than the format", what))
        .with_expected(std::to_string(expected))
        .with_found(std::to_string(found));
  };
  TRILITH_RETURN_IF_ERROR(count_is("codes", matrix.codes.size(), matrix.rows * matrix.cols));
  if (matrix.bits != bits_of_codes(spec)) {
    return Error::usage("the matrix has codes of another width than the format")
        .with_expected(std::to_string(bits_of_codes(spec)))
        .with_found(std::to_string(matrix.bits));
  }
  const unsigned limit = matrix.bits == 0 ? 3 : 1U << matrix.bits;
  if (std::any_of(matrix.codes.begin(), matrix.codes.end(),
                  [&](uint8_t code) { return code >= limit; })) {
    return Error::usage("a code does not fit its bits")
        .with_expected(fmt::format("below {}", limit));
  }
  if (matrix.scale.index != matrix_scale(spec).index || matrix.zero.kind != spec.zero.kind) {
    return Error::usage("the matrix has another kind of scale or zero point than the format");
  }
  TRILITH_ASSIGN_OR_RETURN(const ScaleGrid grid, scale_grid(spec, plan.planes.planes.front().layout,
                                                            matrix.rows, matrix.cols));
  TRILITH_RETURN_IF_ERROR(count_is("scales", matrix.scales.size(), grid.count()));
  const bool rank_one = spec.scale.index == Scale::Index::kRankOne;
  TRILITH_RETURN_IF_ERROR(
      count_is("column scales", matrix.column_scales.size(), rank_one ? matrix.cols : 0));
  const bool zeros = spec.zero.kind != Zero::Kind::kNone && spec.zero.kind != Zero::Kind::kConstant;
  TRILITH_RETURN_IF_ERROR(count_is("zero points", matrix.zeros.size(), zeros ? grid.count() : 0));
  return count_is("column groups", matrix.group_index.size(), spec.group_index ? matrix.cols : 0);
}

// Scales of 8-bit floats that their writer stored as bytes.
TensorsByRole with_float8_scales(const PackingSpec& spec, const TensorsByRole& stored) {
  TensorsByRole tensors = stored;
  const auto scale = tensors.find("scale");
  if (scale != tensors.end() && scale->second.dtype == DType::kU8 && is_float(spec.scale.dtype) &&
      dtype_size(spec.scale.dtype) == 1) {
    scale->second.dtype = spec.scale.dtype;
  }
  return tensors;
}

}  // namespace

Result<StoredByRole> stored_layout(const PackingSpec& spec, int64_t rows, int64_t cols) {
  TRILITH_ASSIGN_OR_RETURN(Plan plan, plan_for(spec, rows, cols));
  return std::move(plan.stored);
}

Result<QuantMatrix> blank_matrix(const PackingSpec& spec, int64_t rows, int64_t cols) {
  TRILITH_ASSIGN_OR_RETURN(const Plan plan, plan_for(spec, rows, cols));
  TRILITH_ASSIGN_OR_RETURN(const ScaleGrid grid,
                           scale_grid(spec, plan.planes.planes.front().layout, rows, cols));
  QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bits = bits_of_codes(spec);
  matrix.scale = matrix_scale(spec);
  matrix.zero = spec.zero;
  matrix.levels = levels_of(spec);
  matrix.levels.resize(matrix.bits == 0 ? 3 : size_t{1} << matrix.bits);
  matrix.codes.resize(static_cast<size_t>(rows * cols));
  matrix.scales.resize(static_cast<size_t>(grid.count()));
  if (spec.scale.index == Scale::Index::kRankOne) {
    matrix.column_scales.resize(static_cast<size_t>(cols));
  }
  if (spec.zero.kind != Zero::Kind::kNone && spec.zero.kind != Zero::Kind::kConstant) {
    matrix.zeros.resize(matrix.scales.size());
  }
  if (spec.group_index) matrix.group_index.resize(static_cast<size_t>(cols));
  return matrix;
}

Result<QuantMatrix> decode(const PackingSpec& spec, const TensorsByRole& stored, int64_t rows,
                           int64_t cols, const DecodeOptions& options) {
  const TensorsByRole tensors = with_float8_scales(spec, stored);
  TRILITH_ASSIGN_OR_RETURN(const Plan plan, plan_for(spec, rows, cols));
  TRILITH_RETURN_IF_ERROR(check_tensors(plan, tensors));
  const TensorView& codes = tensors.at("codes");
  QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bits = bits_of_codes(spec);
  matrix.scale = matrix_scale(spec);
  matrix.zero = spec.zero;
  matrix.levels = levels_of(spec);
  if (spec.symbol == Symbol::kFloatContainer) {
    matrix.levels.resize(size_t{1} << matrix.bits);
    TRILITH_ASSIGN_OR_RETURN(const ScaleGrid grid,
                             scale_grid(spec, plan.planes.planes.front().layout, rows, cols));
    matrix.scales.assign(static_cast<size_t>(grid.count()), 0.0F);
    TRILITH_RETURN_IF_ERROR(read_float_container(spec, codes, matrix));
    return matrix;
  }
  if (spec.code_table.kind == CodeTable::Kind::kTensor) {
    const TensorView& table = tensors.at("table");
    for (uint64_t code = 0; code < table.count(); ++code) {
      const double level = element_as_double(table, code);
      if (!std::isfinite(level)) {
        return Error::damaged("a level of the code table is not finite")
            .with_tensor(table.name)
            .with_found(fmt::format("{} for code {}", level, code));
      }
      matrix.levels.emplace_back(level);
    }
  }
  TRILITH_RETURN_IF_ERROR(read_codes(spec, plan.planes, tensors, matrix));
  TRILITH_RETURN_IF_ERROR(
      read_side_data(spec, plan.planes.planes.front().layout, tensors, codes, matrix));
  TRILITH_RETURN_IF_ERROR(settle_unused_codes(codes, options, matrix));
  return matrix;
}

Result<StoredByRole> encode(const PackingSpec& spec, const QuantMatrix& matrix) {
  TRILITH_ASSIGN_OR_RETURN(Plan plan, plan_for(spec, matrix.rows, matrix.cols));
  TRILITH_RETURN_IF_ERROR(check_matrix(spec, plan, matrix));
  StoredByRole stored = std::move(plan.stored);
  for (auto& [role, tensor] : stored) {
    TRILITH_ASSIGN_OR_RETURN(const uint64_t size, byte_count(tensor.dtype, tensor.shape));
    tensor.bytes.resize(size);
  }
  if (spec.symbol == Symbol::kFloatContainer) {
    TRILITH_RETURN_IF_ERROR(write_float_container(spec, matrix, stored.at("codes").bytes));
    return stored;
  }
  if (spec.law.tile.kind != TileMap::Kind::kNone) {
    write_tiles(spec, matrix, stored.at("codes").bytes);
    TRILITH_RETURN_IF_ERROR(write_side_data(spec, plan.planes.planes.front().layout, matrix,
                                            stored.at("codes").bytes, stored));
    return stored;
  }
  std::vector<uint8_t> turned;
  if (spec.orient == Orientation::kKN) transpose(matrix.codes, matrix.rows, matrix.cols, turned);
  const auto& codes = spec.orient == Orientation::kKN ? turned : matrix.codes;
  const int pad = spec.symbol == Symbol::kBase3 ? spec.digits.pad_digit : spec.pad.code;
  for (size_t i = 0; i < plan.planes.planes.size(); ++i) {
    const CodePlane& plane = plan.planes.planes[i];
    StoredTensor& tensor = stored.at(holder_of_plane(spec, i));
    insert_codes(plane, codes, static_cast<uint8_t>(pad),
                 bytes_of_plane(spec, plane, i, std::span<std::byte>(tensor.bytes)));
  }
  if (spec.code_table.kind == CodeTable::Kind::kTensor) {
    TRILITH_RETURN_IF_ERROR(write_table(matrix, stored.at("table")));
  }
  TRILITH_RETURN_IF_ERROR(write_side_data(spec, plan.planes.planes.front().layout, matrix,
                                          stored.at("codes").bytes, stored));
  return stored;
}

}  // namespace trilith::packing
