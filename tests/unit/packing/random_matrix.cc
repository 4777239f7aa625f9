#include <cmath>

#include "packing/layout.h"
#include "packing/side_data.h"
#include "random_spec.h"

namespace trilith::packing::testing {

namespace {

float random_number(DType dtype, Scale::Op op) {
  if (dtype == DType::kF8E8M0) return std::ldexp(1.0F, static_cast<int>(roll(-5, 5)));
  if (dtype == DType::kI8) return static_cast<float>(roll(-20, 20));
  const auto magnitude = static_cast<float>(roll(1, 15)) / 4;
  return coin() && op != Scale::Op::kMultiplyPowerOfTwo ? -magnitude : magnitude;
}

}  // namespace

QuantMatrix random_matrix(const PackingSpec& spec, int64_t rows, int64_t cols) {
  QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bits = spec.bits;
  matrix.levels = levels_of(spec);
  if (spec.symbol == Symbol::kFloatContainer) {
    matrix.bits = matrix.levels.size() == 2 ? 1 : 2;
    matrix.levels.resize(size_t{1} << matrix.bits);
  }
  if (spec.code_table.kind == CodeTable::Kind::kTensor) {
    for (int code = 0; code < (1 << spec.bits); ++code) {
      matrix.levels.emplace_back(static_cast<double>(roll(-40, 40)) / 8);
    }
  }
  std::vector<uint8_t> usable;
  for (size_t code = 0; code < matrix.levels.size(); ++code) {
    if (matrix.levels[code]) usable.push_back(static_cast<uint8_t>(code));
  }
  for (int64_t i = 0; i < rows * cols; ++i) matrix.codes.push_back(pick(usable));
  matrix.scale = matrix_scale(spec);
  matrix.zero = spec.zero;
  const auto layout = Layout::make(spec, planes_of(spec).front(), rows, cols);
  const auto grid = scale_grid(spec, *layout, rows, cols);
  for (int64_t i = 0; i < grid->count(); ++i) {
    matrix.scales.push_back(random_number(spec.scale.dtype, spec.scale.op));
  }
  if (spec.scale.index == Scale::Index::kRankOne) {
    for (int64_t k = 0; k < cols; ++k) {
      matrix.column_scales.push_back(random_number(spec.scale.dtype, spec.scale.op));
    }
  }
  if (spec.zero.kind != Zero::Kind::kNone && spec.zero.kind != Zero::Kind::kConstant) {
    for (int64_t i = 0; i < grid->count(); ++i) {
      matrix.zeros.push_back(
          spec.zero.bits > 0 ? static_cast<float>(roll(0, (1 << spec.zero.bits) - 1))
          : spec.zero.kind == Zero::Kind::kInteger ? static_cast<float>(roll(-9, 9))
                                                   : random_number(spec.zero.dtype, spec.scale.op));
    }
  }
  if (spec.scale.global != Scale::Global::kNone) {
    matrix.global_scale = static_cast<float>(roll(1, 15)) / 4;
  }
  if (spec.group_index) {
    for (int64_t k = 0; k < cols; ++k) {
      matrix.group_index.push_back(static_cast<int32_t>(roll(0, grid->inner - 1)));
    }
  }
  return matrix;
}

}  // namespace trilith::packing::testing
