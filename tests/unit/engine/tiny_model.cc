#include "tiny_model.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/half.h"
#include "support/tiny_spec.h"

namespace trilith::engine {
namespace {

using model::Linear;
using Random = std::mt19937_64;

float uniform_float(Random& random) {  // in [−1, 1)
  return static_cast<float>(static_cast<int64_t>(random() >> 40) - (1 << 23)) * 0x1p-23F;
}

float rounded_to(DType dtype, float value) {
  if (dtype == DType::kF16) return f32_from_f16(f16_from_f32(value));
  if (dtype == DType::kBF16) return f32_from_bf16(bf16_from_f32(value));
  return value;
}

std::vector<float> gain(Random& random, DType dtype, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = rounded_to(dtype, 1.0F + 0.5F * uniform_float(random));
  return values;
}

model::DenseMatrix dense(Random& random, DType dtype, int64_t rows, int64_t cols, float spread) {
  model::DenseMatrix matrix{rows, cols, dtype, {}};
  matrix.values.resize(static_cast<size_t>(rows * cols));
  for (float& v : matrix.values) v = rounded_to(dtype, spread * uniform_float(random));
  return matrix;
}

// Weights of a standard deviation of about 1.5/√K, so that every update matters.
packing::QuantMatrix quantised(Random& random, Linears kind, int64_t rows, int64_t cols) {
  packing::QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  const bool wide = kind == Linears::kInt8;
  const uint64_t levels = wide ? 255 : 3;
  matrix.bits = wide ? 8 : 2;
  for (uint64_t i = 0; i < levels; ++i) {
    matrix.levels.emplace_back(static_cast<double>(i) - (wide ? 127.0 : 1.0));
  }
  matrix.levels.resize(wide ? 256 : 4);
  matrix.codes.resize(static_cast<size_t>(rows * cols));
  for (uint8_t& code : matrix.codes) code = static_cast<uint8_t>(random() % levels);
  using Index = packing::Scale::Index;
  size_t scales = 1;
  matrix.scale.index = Index::kTensor;
  if (kind == Linears::kTernaryRow || wide) {
    matrix.scale.index = Index::kRow;
    scales = static_cast<size_t>(rows);
  } else if (kind == Linears::kTernaryGroups) {
    matrix.scale.index = Index::kRowGroup;
    matrix.scale.group = 8;
    scales = static_cast<size_t>(rows * ((cols + 7) / 8));
  }
  const float typical = 1.8F / std::sqrt(static_cast<float>(cols)) / (wide ? 73.0F : 1.0F);
  for (size_t i = 0; i < scales; ++i) {
    matrix.scales.push_back(typical * (1.0F + 0.4F * uniform_float(random)));
  }
  return matrix;
}

Linear linear(Random& random, const TinyModel& tiny, int64_t rows, int64_t cols) {
  Linear result;
  if (tiny.linears == Linears::kDense) {
    result.weight =
        dense(random, tiny.dense_dtype, rows, cols, 2.5F / std::sqrt(static_cast<float>(cols)));
  } else {
    result.weight = quantised(random, tiny.linears, rows, cols);
  }
  if (tiny.bias) {
    result.bias.resize(static_cast<size_t>(rows));
    for (float& b : result.bias) b = 0.5F * uniform_float(random);
  }
  return result;
}

using Rows = std::vector<std::vector<double>>;

std::vector<double> norm(const std::vector<double>& x, const std::vector<float>& gain_of,
                         double eps) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * inverse * static_cast<double>(gain_of[i]);
  return y;
}

std::vector<double> multiply(const Linear& weights, std::vector<double> x, Mode mode) {
  const bool low_bit = weights.is_quantised();
  if (low_bit && mode != Mode::kF32) {
    double largest = 0;
    for (const double v : x) largest = std::max(largest, std::abs(v));
    const double s = mode == Mode::kA8 ? 127.0 / std::max(largest, 1e-5)
                                       : (largest > 0 ? 32767.0 / largest : 1.0);
    for (double& v : x) v = std::nearbyint(v * s) / s;
  }
  std::vector<double> y(static_cast<size_t>(weights.rows()));
  for (int64_t n = 0; n < weights.rows(); ++n) {
    double sum =
        weights.bias.empty() ? 0.0 : static_cast<double>(weights.bias[static_cast<size_t>(n)]);
    for (int64_t k = 0; k < weights.cols(); ++k) {
      const double w =
          low_bit ? std::get<packing::QuantMatrix>(weights.weight).value(n, k)
                  : static_cast<double>(std::get<model::DenseMatrix>(weights.weight)
                                            .values[static_cast<size_t>(n * weights.cols() + k)]);
      sum += w * x[static_cast<size_t>(k)];
    }
    y[static_cast<size_t>(n)] = sum;
  }
  return y;
}

void rotate(std::vector<double>& x, int64_t dim, double theta, size_t position) {
  const auto half = static_cast<size_t>(dim / 2);
  for (size_t head = 0; head < x.size(); head += static_cast<size_t>(dim)) {
    for (size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      const double a = x[head + i];
      const double b = x[head + half + i];
      x[head + i] = a * std::cos(angle) - b * std::sin(angle);
      x[head + half + i] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

std::vector<double> attend(const std::vector<double>& q, const Rows& k, const Rows& v,
                           const model::ModelSpec& spec) {
  std::vector<double> out(q.size());
  const auto dim = static_cast<size_t>(spec.head_dim);
  for (int64_t h = 0; h < spec.num_attention_heads; ++h) {
    const size_t at = static_cast<size_t>(h) * dim;
    const size_t kv =
        static_cast<size_t>(h / (spec.num_attention_heads / spec.num_key_value_heads)) * dim;
    std::vector<double> weights;
    double total = 0;
    for (const auto& key : k) {
      double dot = 0;
      for (size_t d = 0; d < dim; ++d) dot += q[at + d] * key[kv + d];
      weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(dim))));
      total += weights.back();
    }
    for (size_t j = 0; j < v.size(); ++j) {
      for (size_t d = 0; d < dim; ++d) out[at + d] += weights[j] / total * v[j][kv + d];
    }
  }
  return out;
}

}  // namespace

std::string describe(const TinyModel& tiny) {
  static constexpr const char* kKinds[] = {"ternary row", "ternary tensor", "ternary groups",
                                           "int8", "dense"};
  return std::string(tiny.bitnet ? "bitnet " : "llama ") +
         kKinds[static_cast<size_t>(tiny.linears)] + (tiny.tied ? " tied" : "") +
         (tiny.bias ? " bias" : "") + " " + std::string(dtype_name(tiny.dense_dtype)) + " seed " +
         std::to_string(tiny.seed);
}

model::Weights make_weights(const TinyModel& tiny) {
  Random random(tiny.seed);
  model::Weights weights;
  model::ModelSpec& spec = weights.spec;
  spec = support::tiny_spec(tiny.bitnet);
  spec.vocab_size = tiny.vocab;
  spec.hidden_size = tiny.hidden;
  spec.intermediate_size = tiny.intermediate;
  spec.num_hidden_layers = tiny.layers;
  spec.num_attention_heads = tiny.heads;
  spec.num_key_value_heads = tiny.kv_heads;
  spec.head_dim = tiny.head_dim;
  spec.rope = {10000.0, tiny.head_dim};
  spec.max_position_embeddings = tiny.context;
  spec.tie_word_embeddings = weights.tied = tiny.tied;
  spec.qkv_bias = spec.o_bias = spec.mlp_bias = tiny.bias;
  const DType dtype = tiny.dense_dtype;
  weights.embedding = dense(random, dtype, tiny.vocab, tiny.hidden, 1.0F);
  for (int64_t i = 0; i < tiny.layers; ++i) {
    model::LayerWeights layer;
    layer.input_norm = gain(random, dtype, tiny.hidden);
    layer.post_norm = gain(random, dtype, tiny.hidden);
    if (tiny.bitnet) {
      layer.attn_sub_norm = gain(random, dtype, spec.q_size());
      layer.ffn_sub_norm = gain(random, dtype, tiny.intermediate);
    }
    layer.q_proj = linear(random, tiny, spec.q_size(), tiny.hidden);
    layer.k_proj = linear(random, tiny, spec.kv_size(), tiny.hidden);
    layer.v_proj = linear(random, tiny, spec.kv_size(), tiny.hidden);
    layer.o_proj = linear(random, tiny, tiny.hidden, spec.q_size());
    layer.gate_proj = linear(random, tiny, tiny.intermediate, tiny.hidden);
    layer.up_proj = linear(random, tiny, tiny.intermediate, tiny.hidden);
    layer.down_proj = linear(random, tiny, tiny.hidden, tiny.intermediate);
    weights.layers.push_back(std::move(layer));
  }
  weights.final_norm = gain(random, dtype, tiny.hidden);
  if (tiny.tied) {
    weights.lm_head.weight = model::DenseMatrix{};
  } else {
    weights.lm_head.weight = dense(random, dtype, tiny.vocab, tiny.hidden, 0.7F);
  }
  return weights;
}

std::vector<int32_t> make_ids(const TinyModel& tiny, int64_t count, uint64_t seed) {
  Random random(seed * 977 + 5);
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(tiny.vocab));
  return ids;
}

std::vector<double> plain_forward(const model::Weights& weights, Mode mode,
                                  const std::vector<int32_t>& ids) {
  const model::ModelSpec& spec = weights.spec;
  const auto hidden = static_cast<size_t>(spec.hidden_size);
  Rows x;
  for (const int32_t id : ids) {
    const float* row = weights.embedding.values.data() + static_cast<size_t>(id) * hidden;
    x.emplace_back(row, row + hidden);
  }
  for (const model::LayerWeights& layer : weights.layers) {
    Rows k;
    Rows v;
    for (size_t t = 0; t < x.size(); ++t) {
      const auto h = norm(x[t], layer.input_norm, spec.rms_norm_eps);
      auto q = multiply(layer.q_proj, h, mode);
      k.push_back(multiply(layer.k_proj, h, mode));
      v.push_back(multiply(layer.v_proj, h, mode));
      rotate(q, spec.head_dim, spec.rope.theta, t);
      rotate(k.back(), spec.head_dim, spec.rope.theta, t);
      auto a = attend(q, k, v, spec);
      if (spec.attn_sub_norm) a = norm(a, layer.attn_sub_norm, spec.rms_norm_eps);
      const auto o = multiply(layer.o_proj, a, mode);
      for (size_t i = 0; i < hidden; ++i) x[t][i] += o[i];
      const auto g = norm(x[t], layer.post_norm, spec.rms_norm_eps);
      auto gate = multiply(layer.gate_proj, g, mode);
      const auto up = multiply(layer.up_proj, g, mode);
      for (size_t i = 0; i < gate.size(); ++i) {
        const double positive = std::max(gate[i], 0.0);
        gate[i] = up[i] * (spec.activation == model::MlpActivation::kSilu
                               ? gate[i] / (1.0 + std::exp(-gate[i]))
                               : positive * positive);
      }
      if (spec.ffn_sub_norm) gate = norm(gate, layer.ffn_sub_norm, spec.rms_norm_eps);
      const auto down = multiply(layer.down_proj, gate, mode);
      for (size_t i = 0; i < hidden; ++i) x[t][i] += down[i];
    }
  }
  Linear head = weights.lm_head;
  if (weights.tied) head.weight = weights.embedding;
  std::vector<double> logits;
  for (const auto& row : x) {
    const auto y = multiply(head, norm(row, weights.final_norm, spec.rms_norm_eps), Mode::kF32);
    logits.insert(logits.end(), y.begin(), y.end());
  }
  return logits;
}

}  // namespace trilith::engine
