#include "support/architectures.h"

#include <cmath>

#include "base/check.h"
#include "support/random_matrix.h"

namespace trilith::support {
namespace {

using model::Role;

model::ModelSpec spec_of(const std::string& more) {
  const auto config = Json::parse(R"({"vocab_size":50,"hidden_size":40,"intermediate_size":72,
    "num_hidden_layers":3,"num_attention_heads":4,"num_key_value_heads":2,
    "max_position_embeddings":400,)" +
                                  more + "}");
  TRILITH_CHECK(config.ok());
  auto spec = model::model_spec_from_config(*config, {});
  TRILITH_CHECK(spec.ok());
  return std::move(spec).value();
}

std::vector<float> numbers(Random& random, int64_t count, double rms) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal() * rms);
  return values;
}

packing::QuantMatrix ternary(Random& random, int64_t rows, int64_t cols, double rms) {
  packing::QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bits = 2;
  matrix.levels = {-1.0, 0.0, 1.0, std::nullopt};
  matrix.scale.index = packing::Scale::Index::kRow;
  matrix.codes.resize(static_cast<size_t>(rows * cols));
  for (uint8_t& code : matrix.codes) code = static_cast<uint8_t>(random.below(3));
  for (int64_t n = 0; n < rows; ++n) {
    matrix.scales.push_back(static_cast<float>(rms * random.positive(0.3) * std::sqrt(1.5)));
  }
  return matrix;
}

}  // namespace

std::vector<NamedSpec> architectures() {
  return {
      {"llama", spec_of(R"("model_type":"llama","attention_bias":true,"mlp_bias":true)")},
      {"bitnet", spec_of(R"("model_type":"bitnet","tie_word_embeddings":true)")},
      {"mistral", spec_of(R"("model_type":"mistral","head_dim":12,"sliding_window":7)")},
      {"qwen2", spec_of(R"("model_type":"qwen2","use_sliding_window":true,"sliding_window":9,
        "max_window_layers":1)")},
      {"qwen3", spec_of(R"("model_type":"qwen3","head_dim":14,"attention_bias":true)")},
      {"smollm3", spec_of(R"("model_type":"smollm3","no_rope_layer_interval":2,
        "use_sliding_window":true,"sliding_window":5)")},
      {"linear", spec_of(R"("model_type":"llama","rope_scaling":{"type":"linear","factor":4})")},
      {"llama3", spec_of(R"("model_type":"llama","rope_scaling":{"rope_type":"llama3","factor":8,
        "low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":16})")},
      {"yarn", spec_of(R"("model_type":"llama","rope_scaling":{"rope_type":"yarn","factor":4,
        "beta_fast":4,"beta_slow":0.5,"original_max_position_embeddings":16})")},
  };
}

model::Weights random_weights(const model::ModelSpec& spec, LinearKind kind, uint64_t seed) {
  model::Weights weights;
  weights.spec = spec;
  weights.tied = spec.tie_word_embeddings;
  weights.lm_head.weight = model::DenseMatrix{};
  weights.layers.resize(static_cast<size_t>(spec.num_hidden_layers));
  for (const model::ModuleId& id : model::modules_of(spec)) {
    const auto [rows, cols] = model::module_shape(spec, id.role);
    Random random(seed, model::module_name(id));
    if (model::is_norm(id.role)) {
      std::vector<float> gain(static_cast<size_t>(rows));
      for (float& value : gain) value = static_cast<float>(random.positive(0.3));
      if (id.role == Role::kFinalNorm) {
        weights.final_norm = std::move(gain);
      } else {
        weights.layers[static_cast<size_t>(id.layer)].gain(id.role) = std::move(gain);
      }
      continue;
    }
    const double rms = 1.5 / std::sqrt(static_cast<double>(cols));
    if (id.role == Role::kEmbedding) {
      weights.embedding = {rows, cols, DType::kF32, numbers(random, rows * cols, 1.0)};
      continue;
    }
    model::Linear linear;
    if (kind == LinearKind::kTernary && id.layer >= 0) {
      linear.weight = ternary(random, rows, cols, rms);
    } else {
      linear.weight =
          model::DenseMatrix{rows, cols, DType::kF32, numbers(random, rows * cols, rms)};
    }
    if (model::has_bias(spec, id.role)) linear.bias = numbers(random, rows, 0.4);
    (id.layer < 0 ? weights.lm_head
                  : weights.layers[static_cast<size_t>(id.layer)].linear(id.role)) =
        std::move(linear);
  }
  return weights;
}

}  // namespace trilith::support
