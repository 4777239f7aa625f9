// Matrix: activations of the reference, [rows, cols] row-major doubles; rows are tokens in order.
// A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trilith::reference {

struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int64_t row_count, int64_t col_count)
      : rows(row_count), cols(col_count), values(static_cast<size_t>(row_count * col_count)) {}

  double* row(int64_t index) { return values.data() + index * cols; }
  const double* row(int64_t index) const { return values.data() + index * cols; }
};

// Each value rounded once to float32, as traces hold them.
std::vector<float> to_floats(const Matrix& matrix);
// Widened exactly; `values` holds rows * cols floats.
Matrix to_matrix(int64_t rows, int64_t cols, std::span<const float> values);

}  // namespace trilith::reference
