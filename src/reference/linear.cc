#include "reference/linear.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace trilith::reference {
namespace {

// Outputs computed together: their accumulators stay in registers (8 of 2 doubles in SSE2).
constexpr int64_t kTile = 16;

// acc[j] = sum over k of x[k] * tile[k][j], ascending k.
void accumulate(const double* x, const double* tile, int64_t count, double* acc) {
  double sums[kTile] = {};
  for (int64_t k = 0; k < count; ++k) {
    const double value = x[k];
    const double* weights = tile + k * kTile;
    for (int64_t j = 0; j < kTile; ++j) sums[j] += value * weights[j];
  }
  std::copy(sums, sums + kTile, acc);
}

// Sums for all outputs; weight_at(n, k) widens one weight.
template <typename WeightAt>
Matrix multiply_by(const Matrix& x, int64_t outputs, const WeightAt& weight_at, ThreadPool& pool) {
  Matrix result(x.rows, outputs);
  const auto tiles = static_cast<size_t>((outputs + kTile - 1) / kTile);
  pool.parallel_for(tiles, 1, [&](size_t begin, size_t end) {
    std::vector<double> tile(static_cast<size_t>(x.cols * kTile));
    for (size_t index = begin; index < end; ++index) {
      const int64_t first = static_cast<int64_t>(index) * kTile;
      const int64_t width = std::min(kTile, outputs - first);
      for (int64_t j = 0; j < width; ++j) {
        for (int64_t k = 0; k < x.cols; ++k) {
          tile[static_cast<size_t>(k * kTile + j)] = weight_at(first + j, k);
        }
      }
      double sums[kTile];
      for (int64_t t = 0; t < x.rows; ++t) {
        accumulate(x.row(t), tile.data(), x.cols, sums);
        std::copy(sums, sums + width, result.row(t) + first);
      }
    }
  });
  return result;
}

void add_bias(const std::vector<float>& bias, Matrix& y) {
  if (bias.empty()) return;
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t n = 0; n < y.cols; ++n) {
      y.row(t)[n] += static_cast<double>(bias[static_cast<size_t>(n)]);
    }
  }
}

// Whether W = integer levels * a scale that is the same along a row.
bool has_row_scale(const packing::QuantMatrix& weights) {
  using Index = packing::Scale::Index;
  if (weights.zero.kind != packing::Zero::Kind::kNone) return false;
  switch (weights.scale.index) {
    case Index::kNone:
    case Index::kTensor:
    case Index::kRow:
      return true;
    case Index::kSegment:
      return weights.scale.segment_axis == packing::Axis::kN;
    default:
      return false;
  }
}

Matrix as_matrix(const QuantisedActivation& input) {
  Matrix codes(input.rows, input.cols);
  std::copy(input.codes.begin(), input.codes.end(), codes.values.begin());
  return codes;
}

int64_t largest_magnitude(const std::vector<int8_t>& levels) {
  int64_t largest = 0;
  for (const int8_t level : levels) largest = std::max<int64_t>(largest, std::abs(int64_t{level}));
  return largest;
}

}  // namespace

Matrix multiply(const model::DenseMatrix& weights, const Matrix& x, ThreadPool& pool) {
  TRILITH_CHECK(x.cols == weights.cols);
  const float* values = weights.values.data();
  const int64_t cols = weights.cols;
  return multiply_by(
      x, weights.rows,
      [values, cols](int64_t n, int64_t k) { return static_cast<double>(values[n * cols + k]); },
      pool);
}

LinearOutput linear_from_codes(const model::Linear& weights, QuantisedActivation input,
                               ThreadPool& pool) {
  TRILITH_CHECK(weights.is_quantised() && input.cols == weights.cols());
  const auto& matrix = std::get<packing::QuantMatrix>(weights.weight);
  const Matrix codes = as_matrix(input);
  LinearOutput output;
  const auto levels =
      has_row_scale(matrix) ? matrix.integer_levels() : std::optional<std::vector<int8_t>>();
  if (levels) {
    // |code| < 2^15 and |level| <= 2^7, so up to 2^31 columns sum exactly in a double.
    TRILITH_CHECK(largest_magnitude(*levels) <= 128 && input.cols <= int64_t{1} << 31);
    const int8_t* data = levels->data();
    const int64_t cols = matrix.cols;
    output.value = multiply_by(
        codes, matrix.rows,
        [data, cols](int64_t n, int64_t k) { return static_cast<double>(data[n * cols + k]); },
        pool);
    output.accumulators.resize(output.value.values.size());
    for (int64_t n = 0; n < matrix.rows; ++n) {
      const double weight_scale = matrix.scale_at(n, 0);
      for (int64_t t = 0; t < input.rows; ++t) {
        double& sum = output.value.row(t)[n];
        output.accumulators[static_cast<size_t>(t * matrix.rows + n)] = static_cast<int64_t>(sum);
        sum *= weight_scale / input.scales[static_cast<size_t>(t)];
      }
    }
  } else {
    output.value = multiply_by(
        codes, matrix.rows, [&matrix](int64_t n, int64_t k) { return matrix.value(n, k); }, pool);
    for (int64_t t = 0; t < input.rows; ++t) {
      for (int64_t n = 0; n < matrix.rows; ++n) {
        output.value.row(t)[n] /= input.scales[static_cast<size_t>(t)];
      }
    }
  }
  add_bias(weights.bias, output.value);
  output.input = std::move(input);
  return output;
}

LinearOutput linear(const model::Linear& weights, const Matrix& x, Mode mode, ThreadPool& pool) {
  if (weights.is_quantised() && mode != Mode::kF32) {
    return linear_from_codes(weights, quantise(x, mode), pool);
  }
  LinearOutput output;
  if (weights.is_quantised()) {
    const auto& matrix = std::get<packing::QuantMatrix>(weights.weight);
    TRILITH_CHECK(x.cols == matrix.cols);
    output.value = multiply_by(
        x, matrix.rows, [&matrix](int64_t n, int64_t k) { return matrix.value(n, k); }, pool);
  } else {
    output.value = multiply(std::get<model::DenseMatrix>(weights.weight), x, pool);
  }
  add_bias(weights.bias, output.value);
  return output;
}

}  // namespace trilith::reference
