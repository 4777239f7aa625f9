// A GGUF file in the terms of transformers: the names of its tensors and, from its keys, what
// config.json would say. For decoders that lie as Llama does; others are named as unknown.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "checkpoint/gguf.h"

namespace trilith::checkpoint {

struct GgufArchitecture {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // of config.json
  std::string_view hidden_act;
  // llama.cpp's converter reorders the rows of q and k of every head: row 2i is transformers' row i
  // of the head, row 2i + 1 is row i + head_dim / 2 (rotary pairs side by side).
  bool permutes_qk = false;
};
// Null for an architecture that is not known.
const GgufArchitecture* gguf_architecture(std::string_view name);

// "blk.0.attn_q.weight" -> "model.layers.0.self_attn.q_proj.weight"; what follows the module's name
// (".bias", ".weight_scale") is kept. Nothing for names that have no counterpart (rope_freqs).
std::optional<std::string> transformers_name(std::string_view gguf_name);

// What config.json would say. Refuses an unknown architecture, missing or senseless sizes, and
// sizes that differ between layers. A tensor rope_freqs.weight (Llama 3's position scaling, whose
// parameters the file does not keep) becomes rope_scaling {"rope_type": "rope_freqs"}.
Result<Json> gguf_config(const Json& metadata, std::span<const GgufArray> arrays,
                         std::span<const TensorView> tensors);

}  // namespace trilith::checkpoint
