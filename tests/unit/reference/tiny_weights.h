// Small weights made in memory, deterministic by seed: dense or ternary linears.
#pragma once

#include <cstdint>
#include <vector>

#include "model/weights.h"
#include "support/tiny_spec.h"

namespace trilith::reference {

using support::tiny_spec;

// Values in [-1, 1), the same everywhere.
class TestNumbers {
 public:
  explicit TestNumbers(uint64_t seed) : state_(seed) {}
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1.0;
  }
  std::vector<float> floats(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(next());
    return values;
  }

 private:
  uint64_t state_;
};

inline model::Linear dense_linear(int64_t rows, int64_t cols, TestNumbers& numbers) {
  model::DenseMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.values = numbers.floats(rows * cols);
  model::Linear linear;
  linear.weight = std::move(matrix);
  return linear;
}

// Codes 0, 1, 2 for -1, 0, +1 and a scale a row.
inline model::Linear ternary_linear(int64_t rows, int64_t cols, TestNumbers& numbers) {
  packing::QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bits = 2;
  matrix.levels = {-1.0, 0.0, 1.0, std::nullopt};
  matrix.scale.index = packing::Scale::Index::kRow;
  for (int64_t i = 0; i < rows * cols; ++i) {
    matrix.codes.push_back(static_cast<uint8_t>((numbers.next() + 1) * 1.4999));
  }
  for (int64_t n = 0; n < rows; ++n) {
    matrix.scales.push_back(static_cast<float>(0.3 + 0.2 * numbers.next()));
  }
  model::Linear linear;
  linear.weight = std::move(matrix);
  return linear;
}

inline model::Weights tiny_weights(const model::ModelSpec& spec, uint64_t seed) {
  TestNumbers numbers(seed);
  model::Weights weights;
  weights.spec = spec;
  weights.embedding.rows = spec.vocab_size;
  weights.embedding.cols = spec.hidden_size;
  weights.embedding.values = numbers.floats(spec.vocab_size * spec.hidden_size);
  const auto gain = [&](int64_t size) {
    std::vector<float> values = numbers.floats(size);
    for (float& value : values) value = 1.0F + 0.5F * value;
    return values;
  };
  using model::Role;
  for (int64_t i = 0; i < spec.num_hidden_layers; ++i) {
    model::LayerWeights layer;
    layer.input_norm = gain(spec.hidden_size);
    layer.post_norm = gain(spec.hidden_size);
    if (spec.attn_sub_norm) layer.attn_sub_norm = gain(spec.q_size());
    if (spec.ffn_sub_norm) layer.ffn_sub_norm = gain(spec.intermediate_size);
    for (const Role role : {Role::kQProj, Role::kKProj, Role::kVProj, Role::kOProj, Role::kGateProj,
                            Role::kUpProj, Role::kDownProj}) {
      const model::MatrixShape shape = model::module_shape(spec, role);
      layer.linear(role) = ternary_linear(shape.rows, shape.cols, numbers);
    }
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = gain(spec.hidden_size);
  weights.lm_head = dense_linear(spec.vocab_size, spec.hidden_size, numbers);
  return weights;
}

}  // namespace trilith::reference
