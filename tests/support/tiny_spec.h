// The architecture of a tiny model, for tests that make weights in memory or need none: a Llama, or
// a BitNet b1.58 with its sub-norms, ReLU² and int8 activations. Callers change the sizes they look
// at.
#pragma once

#include "model/model_spec.h"

namespace trilith::support {

inline model::ModelSpec tiny_spec(bool bitnet) {
  model::ModelSpec spec;
  spec.model_type = bitnet ? "bitnet" : "llama";
  spec.architecture = bitnet ? "BitNetForCausalLM" : "LlamaForCausalLM";
  spec.vocab_size = 37;
  spec.hidden_size = 24;
  spec.intermediate_size = 40;
  spec.num_hidden_layers = 2;
  spec.num_attention_heads = 4;
  spec.num_key_value_heads = 2;
  spec.head_dim = 6;
  spec.max_position_embeddings = 64;
  spec.rms_norm_eps = 1e-5;
  spec.rope.head_dim = 6;
  spec.activation = bitnet ? model::MlpActivation::kRelu2 : model::MlpActivation::kSilu;
  spec.attn_sub_norm = bitnet;
  spec.ffn_sub_norm = bitnet;
  spec.int8_activations = bitnet;
  return spec;
}

}  // namespace trilith::support
