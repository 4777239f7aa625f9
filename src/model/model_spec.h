// ModelSpec: an architecture as data. The reference and the engine walk the same description but
// share no arithmetic. Read from a Hugging Face config.json; a config that asks for something the
// description cannot say is refused, never approximated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::model {

// More layers, or a layer of a higher number, are no model but damage.
inline constexpr int64_t kMaxLayers = 4096;

enum class MlpActivation { kSilu, kRelu2, kRelu, kGeluErf, kGeluTanh };

struct RopeSpec {
  double theta = 10000.0;
  int64_t head_dim = 0;
  bool operator==(const RopeSpec&) const = default;
};

struct ModelSpec {
  std::string model_type;    // "llama", "bitnet"
  std::string architecture;  // "LlamaForCausalLM"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  MlpActivation activation = MlpActivation::kSilu;
  RopeSpec rope;
  bool tie_word_embeddings = false;
  bool attention_bias = false;  // q, k, v, o carry a bias
  bool mlp_bias = false;
  bool attn_sub_norm = false;     // BitNet: RMSNorm before o_proj
  bool ffn_sub_norm = false;      // BitNet: RMSNorm before down_proj
  bool int8_activations = false;  // trained with per-token int8 inputs (BitNet)
  std::vector<int64_t> eos_token_ids;
  std::vector<int64_t> bos_token_ids;
  bool operator==(const ModelSpec&) const = default;

  int64_t q_size() const { return num_attention_heads * head_dim; }
  int64_t kv_size() const { return num_key_value_heads * head_dim; }
};

// Every field checked: present where needed, positive, within bounds, mutually consistent.
Result<ModelSpec> model_spec_from_config(const Json& config, const Json& generation_config);
// As a config.json of the same meaning (model_spec_from_config reads it back).
Json to_json(const ModelSpec& spec);

}  // namespace trilith::model
