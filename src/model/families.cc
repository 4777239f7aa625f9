#include "model/families.h"

namespace trilith::model {
namespace {

constexpr Family kFamilies[] = {
    {.model_type = "llama", .architecture = "LlamaForCausalLM", .mlp_bias_allowed = true},
    {.model_type = "bitnet",
     .architecture = "BitNetForCausalLM",
     .hidden_act = "relu2",
     .rms_norm_eps = 1e-5,
     .rope_theta = 500000.0,
     .key_value_heads = 5,
     .sub_norms = true},
    {.model_type = "mistral",
     .architecture = "MistralForCausalLM",
     .key_value_heads = 8,
     .max_positions = 131072,
     .window = 4096,
     .bias = BiasRule::kNever,
     .layers = LayerRule::kOneWindow},
    {.model_type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .key_value_heads = 32,
     .max_positions = 32768,
     .window = 4096,
     .bias = BiasRule::kAlwaysQkv,
     .layers = LayerRule::kLateWindow},
    {.model_type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .key_value_heads = 32,
     .head_dim = 128,
     .max_positions = 32768,
     .window = 4096,
     .qk_norm = true,
     .layers = LayerRule::kLateWindow},
    {.model_type = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .rope_theta = 2000000.0,
     .key_value_heads = 4,
     .max_positions = 32768,
     .tied = true,
     .mlp_bias_allowed = true,
     .layers = LayerRule::kNope},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

}  // namespace trilith::model
