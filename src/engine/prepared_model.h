// PreparedModel: all weights of a model in the form the engine runs. Immutable once prepared.
#pragma once

#include <vector>

#include "engine/prepared_linear.h"

namespace trilith::engine {

struct PreparedLayer {
  std::vector<float> input_norm, post_norm;
  // Empty where the architecture has none.
  std::vector<float> q_norm, k_norm, attn_sub_norm, ffn_sub_norm;
  PreparedLinear q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj;
};

struct PreparedModel {
  model::ModelSpec spec;
  DenseRows embedding;
  std::vector<PreparedLayer> layers;
  std::vector<float> final_norm;
  PreparedLinear lm_head;  // unused when tied: the head is the embedding then
  bool tied = false;
  int64_t linear_bytes = 0;  // of all linears, head included
};

// Frees the parts of `weights` as it goes: both are never whole at once.
Result<PreparedModel> prepare_model(model::Weights&& weights, Mode mode);
// Leaves them as they are; a layer at a time is copied.
Result<PreparedModel> prepare_model(const model::Weights& weights, Mode mode);

}  // namespace trilith::engine
