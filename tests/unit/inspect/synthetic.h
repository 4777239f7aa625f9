// Synthetic weights for the tests of inspect: ternary matrices with the structure that trained ones
// have (strong and weak rows and columns), packed by encode.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "inspect/grouping.h"
#include "inspect/tensor_summary.h"
#include "packing/codec.h"

namespace trilith::inspect::testing {

// Log-normal strengths around 1.
inline std::vector<double> strengths(std::mt19937_64& random, size_t count, double spread = 0.5) {
  std::normal_distribution<double> normal(0, spread);
  std::vector<double> values(count);
  for (double& value : values) value = std::exp(normal(random));
  return values;
}

// Levels −1, 0, 1 and one scale a row, as absmean rounding of a Gaussian master with these row and
// column strengths gives them.
struct Ternary {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<int8_t> levels;
  std::vector<float> scales;
};

inline Ternary ternary(std::mt19937_64& random, const std::vector<double>& row_strength,
                       const std::vector<double>& col_strength) {
  std::normal_distribution<double> normal;
  Ternary matrix;
  matrix.rows = static_cast<int64_t>(row_strength.size());
  matrix.cols = static_cast<int64_t>(col_strength.size());
  for (const double row : row_strength) {
    std::vector<double> master;
    double mean = 0;
    for (const double col : col_strength) {
      master.push_back(normal(random) * row * col * 0.02);
      mean += std::abs(master.back());
    }
    mean /= static_cast<double>(master.size());
    const float scale = f32_from_f16(f16_from_f32(static_cast<float>(mean)));
    for (const double value : master) {
      matrix.levels.push_back(static_cast<int8_t>(std::clamp(std::round(value / mean), -1.0, 1.0)));
    }
    matrix.scales.push_back(scale);
  }
  return matrix;
}

// The codes that give these levels under the code table of `spec`.
inline packing::QuantMatrix to_quant(const Ternary& matrix, const packing::PackingSpec& spec) {
  packing::QuantMatrix quant;
  quant.rows = matrix.rows;
  quant.cols = matrix.cols;
  quant.bits = spec.bits;
  quant.levels = packing::levels_of(spec);
  quant.scale = spec.scale;
  for (const float scale : matrix.scales) {
    quant.scales.push_back(spec.scale.op == packing::Scale::Op::kDivide ? 1 / scale : scale);
  }
  for (const int8_t level : matrix.levels) {
    uint8_t code = 0;
    while (quant.levels[code] != static_cast<double>(level)) ++code;
    quant.codes.push_back(code);
  }
  return quant;
}

// Tensors that own their bytes, with views and summaries like a checkpoint's.
class TensorStore {
 public:
  void add(const std::string& name, DType dtype, Shape shape, std::vector<std::byte> bytes) {
    data_.push_back(std::move(bytes));
    views_.push_back({name, dtype, std::move(shape), data_.back()});
  }
  void add_floats(const std::string& name, Shape shape, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    add(name, DType::kF32, std::move(shape), std::move(bytes));
  }
  // codes and scale as `prefix`.codes, `prefix`.scale.
  void add_packed(const std::string& prefix, const Ternary& matrix,
                  const packing::PackingSpec& spec) {
    auto stored = packing::encode(spec, to_quant(matrix, spec));
    ASSERT_TRUE(stored.ok()) << stored.error().to_string();
    for (auto& [role, tensor] : *stored) {
      add(prefix + "." + role, tensor.dtype, tensor.shape, std::move(tensor.bytes));
    }
  }
  const std::vector<TensorView>& views() const { return views_; }
  const std::vector<TensorSummary>& summaries() {
    summaries_.clear();
    for (const TensorView& view : views_) summaries_.push_back(summarise(view));
    return summaries_;
  }

 private:
  std::vector<std::vector<std::byte>> data_;  // moves keep the heap blocks the views point to
  std::vector<TensorView> views_;
  std::vector<TensorSummary> summaries_;
};

}  // namespace trilith::inspect::testing
