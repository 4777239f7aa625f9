#include "reference/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "reference/rope_frequencies.h"

namespace trilith::reference {
namespace {

double activate(double x, model::MlpActivation activation) {
  switch (activation) {
    case model::MlpActivation::kSilu:
      return x / (1.0 + std::exp(-x));
    case model::MlpActivation::kRelu:
      return x > 0 ? x : 0.0;
    case model::MlpActivation::kRelu2:
      return x > 0 ? x * x : 0.0;
    case model::MlpActivation::kGeluErf:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case model::MlpActivation::kGeluTanh: {
      const double slope = std::sqrt(2.0 / std::numbers::pi);
      return 0.5 * x * (1.0 + std::tanh(slope * (x + 0.044715 * x * x * x)));
    }
  }
  TRILITH_CHECK(false);
}

double dot(const double* a, const double* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

std::vector<float> to_floats(const Matrix& matrix) {
  std::vector<float> result(matrix.values.size());
  std::transform(matrix.values.begin(), matrix.values.end(), result.begin(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

Matrix to_matrix(int64_t rows, int64_t cols, std::span<const float> values) {
  Matrix result(rows, cols);
  TRILITH_CHECK(values.size() == result.values.size());
  std::copy(values.begin(), values.end(), result.values.begin());
  return result;
}

Matrix embed(const model::DenseMatrix& embedding, std::span<const int32_t> ids) {
  Matrix result(static_cast<int64_t>(ids.size()), embedding.cols);
  for (int64_t t = 0; t < result.rows; ++t) {
    const int64_t id = ids[static_cast<size_t>(t)];
    TRILITH_CHECK(id >= 0 && id < embedding.rows);
    const float* row = embedding.values.data() + id * embedding.cols;
    std::copy(row, row + embedding.cols, result.row(t));
  }
  return result;
}

Matrix rms_norm(const Matrix& x, std::span<const float> gain, double eps) {
  TRILITH_CHECK(static_cast<int64_t>(gain.size()) == x.cols);
  Matrix result(x.rows, x.cols);
  for (int64_t t = 0; t < x.rows; ++t) {
    const double* row = x.row(t);
    const double mean = dot(row, row, x.cols) / static_cast<double>(x.cols);
    const double root = std::sqrt(mean + eps);
    for (int64_t i = 0; i < x.cols; ++i) {
      result.row(t)[i] = row[i] / root * static_cast<double>(gain[static_cast<size_t>(i)]);
    }
  }
  return result;
}

Matrix head_norm(const Matrix& x, std::span<const float> gain, double eps) {
  const auto dim = static_cast<int64_t>(gain.size());
  TRILITH_CHECK(dim > 0 && x.cols % dim == 0);
  Matrix heads(x.rows * (x.cols / dim), dim);
  heads.values = x.values;
  Matrix result(x.rows, x.cols);
  result.values = rms_norm(heads, gain, eps).values;
  return result;
}

Matrix rope(const Matrix& x, int64_t heads, const model::RopeSpec& spec,
            std::span<const int64_t> positions) {
  const int64_t half = spec.head_dim / 2;
  TRILITH_CHECK(x.cols == heads * spec.head_dim &&
                static_cast<int64_t>(positions.size()) == x.rows);
  const std::vector<double> frequencies = rope_frequencies(spec);
  Matrix result(x.rows, x.cols);
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = frequencies[static_cast<size_t>(i)];
    for (int64_t t = 0; t < x.rows; ++t) {
      const double angle = static_cast<double>(positions[static_cast<size_t>(t)]) * frequency;
      const double cosine = std::cos(angle) * spec.attention_factor;
      const double sine = std::sin(angle) * spec.attention_factor;
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t low = head * spec.head_dim + i;
        const int64_t high = low + half;
        const double a = x.row(t)[low];
        const double b = x.row(t)[high];
        result.row(t)[low] = a * cosine - b * sine;
        result.row(t)[high] = b * cosine + a * sine;
      }
    }
  }
  return result;
}

Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, const model::ModelSpec& spec,
                 int64_t window, ThreadPool& pool) {
  const int64_t dim = spec.head_dim;
  const int64_t group = spec.num_attention_heads / spec.num_key_value_heads;
  TRILITH_CHECK(q.cols == spec.q_size() && k.cols == spec.kv_size() && v.cols == spec.kv_size());
  TRILITH_CHECK(q.rows == k.rows && q.rows == v.rows);
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  Matrix result(q.rows, q.cols);
  pool.parallel_for(
      static_cast<size_t>(spec.num_attention_heads), 1, [&](size_t begin, size_t end) {
        std::vector<double> weights(static_cast<size_t>(q.rows));
        for (auto head = static_cast<int64_t>(begin); head < static_cast<int64_t>(end); ++head) {
          const int64_t kv_offset = head / group * dim;
          for (int64_t t = 0; t < q.rows; ++t) {
            const int64_t first = window == 0 ? 0 : std::max<int64_t>(0, t + 1 - window);
            double largest = -std::numeric_limits<double>::infinity();
            for (int64_t s = first; s <= t; ++s) {
              double& weight = weights[static_cast<size_t>(s)];
              weight = dot(q.row(t) + head * dim, k.row(s) + kv_offset, dim) * scale;
              largest = std::max(largest, weight);
            }
            double total = 0;
            for (int64_t s = first; s <= t; ++s) {
              double& weight = weights[static_cast<size_t>(s)];
              weight = std::exp(weight - largest);
              total += weight;
            }
            double* out = result.row(t) + head * dim;
            for (int64_t s = first; s <= t; ++s) {
              const double weight = weights[static_cast<size_t>(s)] / total;
              const double* value = v.row(s) + kv_offset;
              for (int64_t i = 0; i < dim; ++i) out[i] += weight * value[i];
            }
          }
        }
      });
  return result;
}

Matrix gated_activation(const Matrix& gate, const Matrix& up, model::MlpActivation activation) {
  TRILITH_CHECK(gate.rows == up.rows && gate.cols == up.cols);
  Matrix result(gate.rows, gate.cols);
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = activate(gate.values[i], activation) * up.values[i];
  }
  return result;
}

Matrix add(const Matrix& a, const Matrix& b) {
  TRILITH_CHECK(a.rows == b.rows && a.cols == b.cols);
  Matrix result(a.rows, a.cols);
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = a.values[i] + b.values[i];
  }
  return result;
}

}  // namespace trilith::reference
