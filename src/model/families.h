// The architectures that are read, one row each: what transformers' config class takes for a key
// that is not there, and which of the parts that ModelSpec can say the class has. Data only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace trilith::model {

// Which of q, k, v and o have a bias.
enum class BiasRule {
  kAsConfigured,  // all four, when attention_bias says so
  kAlwaysQkv,
  kNever,
};

// How a config says which layers see a window of keys only, and which have no positions.
enum class LayerRule {
  kAllAlike,    // no windows, positions everywhere
  kOneWindow,   // sliding_window, in every layer
  kLateWindow,  // use_sliding_window, from layer max_window_layers on, or layer_types
  kNope,        // no_rope_layers; where those have a window too, use_sliding_window or layer_types
};

struct Family {
  std::string_view model_type;
  std::string_view architecture;
  std::string_view hidden_act = "silu";
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  int64_t key_value_heads = 0;  // 0: as many as attention heads
  int64_t head_dim = 0;         // 0: hidden_size / heads
  int64_t max_positions = 2048;
  int64_t window = 0;  // default of sliding_window
  bool tied = false;
  bool sub_norms = false;
  bool qk_norm = false;
  bool mlp_bias_allowed = false;
  BiasRule bias = BiasRule::kAsConfigured;
  LayerRule layers = LayerRule::kAllAlike;
};

std::span<const Family> families();

}  // namespace trilith::model
