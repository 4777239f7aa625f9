#include "engine/prepared_linear.h"

#include <cmath>
#include <cstring>

#include "base/half.h"

namespace trilith::engine {
namespace {

using packing::QuantMatrix;
using packing::Scale;
using packing::Zero;

bool one_scale_a_row(const Scale& scale, int64_t cols) {
  switch (scale.index) {
    case Scale::Index::kNone:
    case Scale::Index::kTensor:
    case Scale::Index::kRow:
      return true;
    case Scale::Index::kRowGroup:
      return scale.group <= 0 || scale.group >= cols;
    case Scale::Index::kSegment:
      return scale.segment_axis == packing::Axis::kN;
    default:
      return false;
  }
}

// The weights as integers times a scale of their row, or nothing when they are not that.
std::optional<std::vector<int8_t>> row_scaled_integers(const QuantMatrix& matrix) {
  if (!one_scale_a_row(matrix.scale, matrix.cols)) return std::nullopt;
  if (matrix.zero.kind != Zero::Kind::kNone && matrix.zero.kind != Zero::Kind::kConstant) {
    return std::nullopt;
  }
  auto levels = matrix.integer_levels();
  if (!levels || matrix.zero.kind == Zero::Kind::kNone) return levels;
  for (int8_t& level : *levels) {
    const int64_t shifted = level - matrix.zero.value;
    if (shifted < -128 || shifted > 127) return std::nullopt;
    level = static_cast<int8_t>(shifted);
  }
  return levels;
}

Result<std::vector<float>> row_scales(const QuantMatrix& matrix, const std::string& name) {
  std::vector<float> scales(static_cast<size_t>(matrix.rows));
  for (int64_t n = 0; n < matrix.rows; ++n) {
    const auto scale = static_cast<float>(matrix.scale_at(n, 0));
    if (!std::isfinite(scale)) {
      return Error::damaged("the scale of row " + std::to_string(n) + " is not a finite float")
          .with_tensor(name);
    }
    scales[static_cast<size_t>(n)] = scale;
  }
  return scales;
}

Status check_sizes(const model::Linear& linear, const std::string& name) {
  const auto rows = static_cast<size_t>(linear.rows());
  const size_t count = rows * static_cast<size_t>(linear.cols());
  const size_t found = linear.is_quantised()
                           ? std::get<QuantMatrix>(linear.weight).codes.size()
                           : std::get<model::DenseMatrix>(linear.weight).values.size();
  if (found != count || (!linear.bias.empty() && linear.bias.size() != rows)) {
    return Error::damaged("a linear holds another number of values than its shape says")
        .with_tensor(name)
        .with_expected(std::to_string(count))
        .with_found(std::to_string(found));
  }
  return {};
}

Status prepare_quantised(const QuantMatrix& matrix, Mode mode, const std::string& name,
                         PreparedLinear& prepared) {
  const QuantMatrix::Unused unused = matrix.unused_codes();
  if (unused.count > 0) {
    return Error::damaged("codes without a level")
        .with_tensor(name)
        .with_found(std::to_string(unused.count) + ", the first at element " +
                    std::to_string(unused.first));
  }
  prepared.takes_codes = mode != Mode::kF32;
  const auto integers = row_scaled_integers(matrix);
  if (!integers) {
    prepared.weights = DenseRows({matrix.rows, matrix.cols, DType::kF32, matrix.dense()});
    return {};
  }
  TRILITH_ASSIGN_OR_RETURN(prepared.row_scale, row_scales(matrix, name));
  if (mode == Mode::kF32) {
    prepared.weights = DenseRows::of_integers(*integers, matrix.rows, matrix.cols);
    return {};
  }
  auto panels = kernels::pack_panels(*integers, matrix.rows, matrix.cols);
  if (!panels.ok()) return std::move(panels).error().with_tensor(name);
  prepared.weights = std::move(panels).value();
  return {};
}

// The halves of `values`, or nothing when one does not come back as it was.
template <typename Narrow, typename Widen>
std::optional<std::vector<uint16_t>> narrowed(const std::vector<float>& values, Narrow narrow,
                                              Widen widen) {
  std::vector<uint16_t> halves(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    halves[i] = narrow(values[i]);
    if (widen(halves[i]) != values[i]) return std::nullopt;
  }
  return halves;
}

}  // namespace

DenseRows::DenseRows(model::DenseMatrix matrix) : rows_(matrix.rows), cols_(matrix.cols) {
  std::optional<std::vector<uint16_t>> halves;
  if (matrix.stored_dtype == DType::kF16) {
    halves = narrowed(matrix.values, f16_from_f32, f32_from_f16);
  } else if (matrix.stored_dtype == DType::kBF16) {
    halves = narrowed(matrix.values, bf16_from_f32, f32_from_bf16);
  }
  if (halves) {
    dtype_ = matrix.stored_dtype;
    halves_ = *std::move(halves);
  } else {
    floats_ = std::move(matrix.values);
  }
}

DenseRows DenseRows::of_integers(const std::vector<int8_t>& values, int64_t rows, int64_t cols) {
  return DenseRows({rows, cols, DType::kF16, std::vector<float>(values.begin(), values.end())});
}

void DenseRows::widen_row(int64_t row, float* out) const {
  const size_t first = static_cast<size_t>(row * cols_);
  const auto count = static_cast<size_t>(cols_);
  if (dtype_ == DType::kF32) {
    std::memcpy(out, floats_.data() + first, count * sizeof(float));
    return;
  }
  for (size_t k = 0; k < count; ++k) {
    const uint16_t bits = halves_[first + k];
    out[k] = dtype_ == DType::kF16 ? f32_from_f16(bits) : f32_from_bf16(bits);
  }
}

void DenseRows::dot(const kernels::KernelSet& set, int64_t first, int64_t count, const float* x,
                    int64_t x_stride, int64_t tokens, float* out, int64_t out_stride) const {
  const int64_t start = first * cols_;
  kernels::DenseDot dot = {.weights = nullptr,
                           .rows = count,
                           .cols = cols_,
                           .weight_stride = cols_,
                           .x = x,
                           .x_stride = x_stride,
                           .tokens = tokens,
                           .out = out,
                           .out_stride = out_stride};
  if (dtype_ == DType::kF32) {
    dot.weights = floats_.data() + start;
    set.dense_f32(dot);
  } else {
    dot.weights = halves_.data() + start;
    dtype_ == DType::kF16 ? set.dense_f16(dot) : set.dense_bf16(dot);
  }
}

int64_t PreparedLinear::bytes() const {
  return panels() != nullptr ? static_cast<int64_t>(panels()->data.size()) : dense()->bytes();
}

Result<PreparedLinear> prepare_linear(model::Linear&& linear, const model::ModuleId& module,
                                      Mode mode) {
  const std::string name = model::module_name(module);
  TRILITH_RETURN_IF_ERROR(check_sizes(linear, name));
  PreparedLinear prepared;
  prepared.module = module;
  prepared.rows = linear.rows();
  prepared.cols = linear.cols();
  prepared.bias = std::move(linear.bias);
  if (linear.is_quantised()) {
    const QuantMatrix matrix = std::get<QuantMatrix>(std::move(linear.weight));
    TRILITH_RETURN_IF_ERROR(prepare_quantised(matrix, mode, name, prepared));
  } else {
    prepared.weights = DenseRows(std::get<model::DenseMatrix>(std::move(linear.weight)));
  }
  return prepared;
}

}  // namespace trilith::engine
