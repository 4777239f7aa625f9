// PreparedLinear: a linear in the form its kernel reads.
//   panels  integer weights with one scale a row or tensor, under quantised activations
//   dense   float16, bfloat16 or float32 rows: dense weights as stored; integer weights with their
//           row scale apart (f32 mode); and, whatever the mode, low-bit weights whose scale varies
//           along a row or whose levels are no integers, dequantised
// Owns its data; immutable once prepared.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/mode.h"
#include "kernels/panels.h"
#include "model/weights.h"

namespace trilith::engine {

// A matrix of floats kept in the narrowest of the formats that holds it exactly.
class DenseRows {
 public:
  DenseRows() = default;
  explicit DenseRows(model::DenseMatrix matrix);
  static DenseRows of_integers(const std::vector<int8_t>& values, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  DType dtype() const { return dtype_; }  // kF32, kF16 or kBF16
  int64_t bytes() const { return rows_ * cols_ * static_cast<int64_t>(dtype_size(dtype_)); }
  void widen_row(int64_t row, float* out) const;
  // out[t · out_stride + n − first] = rows [first, first + count) · x[t].
  void dot(const kernels::KernelSet& set, int64_t first, int64_t count, const float* x,
           int64_t x_stride, int64_t tokens, float* out, int64_t out_stride) const;

 private:
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  DType dtype_ = DType::kF32;
  std::vector<float> floats_;
  std::vector<uint16_t> halves_;
};

struct PreparedLinear {
  model::ModuleId module;
  int64_t rows = 0;
  int64_t cols = 0;
  std::variant<kernels::Panels, DenseRows> weights;
  std::vector<float> row_scale;  // [rows]; empty: 1
  std::vector<float> bias;       // [rows]; empty: none
  bool takes_codes = false;      // its input is quantised in this mode

  const kernels::Panels* panels() const { return std::get_if<kernels::Panels>(&weights); }
  const DenseRows* dense() const { return std::get_if<DenseRows>(&weights); }
  int64_t bytes() const;
};

Result<PreparedLinear> prepare_linear(model::Linear&& linear, const model::ModuleId& module,
                                      Mode mode);

}  // namespace trilith::engine
