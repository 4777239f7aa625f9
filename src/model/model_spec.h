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

// How the angles of a model that was made for longer texts differ from position · theta^(−2i/d).
enum class RopeScaling {
  kNone,
  kLinear,  // all frequencies divided by factor
  kLlama3,  // low ones divided, high ones kept, a ramp over the wavelengths between
  kYarn,    // the same with a ramp over the dimensions, and cos and sin times attention_factor
};

struct RopeSpec {
  double theta = 10000.0;
  int64_t head_dim = 0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double original_positions = 0.0;  // llama3 and yarn: those the model was first trained with
  double low_freq_factor = 1.0;     // llama3
  double high_freq_factor = 4.0;
  double beta_fast = 32.0;  // yarn: turns over original_positions where its ramp begins and ends
  double beta_slow = 1.0;
  bool truncate = true;  // the ramp's ends are whole dimensions
  double attention_factor = 1.0;
  bool operator==(const RopeSpec&) const = default;
};

// What may differ from layer to layer.
struct LayerSpec {
  int64_t window = 0;  // keys that a token sees at most, its own included; 0: all before it
  bool rope = true;    // false: no positions (NoPE)
  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  std::string model_type;    // "llama", "bitnet", "mistral", "qwen2", "qwen3", "smollm3"
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
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;           // Qwen3: RMSNorm of each head of q and k, before RoPE
  bool attn_sub_norm = false;     // BitNet: RMSNorm before o_proj
  bool ffn_sub_norm = false;      // BitNet: RMSNorm before down_proj
  bool int8_activations = false;  // trained with per-token int8 inputs (BitNet)
  std::vector<LayerSpec> layers;  // empty: all as LayerSpec{}
  std::vector<int64_t> eos_token_ids;
  std::vector<int64_t> bos_token_ids;
  bool operator==(const ModelSpec&) const = default;

  int64_t q_size() const { return num_attention_heads * head_dim; }
  int64_t kv_size() const { return num_key_value_heads * head_dim; }
  LayerSpec layer(int64_t index) const {
    return layers.empty() ? LayerSpec{} : layers[static_cast<size_t>(index)];
  }
};

// Every field checked: present where needed, positive, within bounds, mutually consistent.
Result<ModelSpec> model_spec_from_config(const Json& config, const Json& generation_config);
// As a config.json of the same meaning (model_spec_from_config reads it back).
Json to_json(const ModelSpec& spec);

}  // namespace trilith::model
