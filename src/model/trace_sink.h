// TraceSink: where reference and engine hand over intermediate values. The receiver copies what it
// wants; capture never changes what is computed.
//
// Point names, in execution order ("layers.3." before the per-layer ones): embed; input_norm,
// q_proj, k_proj, v_proj, q_norm, k_norm, q_rope, k_rope, attn, attn_sub_norm, o_proj,
// attn_residual, post_norm, gate_proj, up_proj, act, ffn_sub_norm, down_proj, out; final_norm;
// logits. A linear under quantised activations adds ".x_codes", ".x_scale" and ".acc".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_spec.h"

namespace trilith::model {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // [rows, cols] row-major; rows are tokens in order. `point` includes the layer prefix.
  virtual void record(std::string_view point, int64_t rows, int64_t cols,
                      std::span<const float> values) = 0;
  virtual void record_integers(std::string_view point, int64_t rows, int64_t cols,
                               std::span<const int32_t> values) = 0;
};

// "layers.3.q_proj"
std::string layer_point(int64_t layer, std::string_view point);
// All float points of an architecture in execution order.
std::vector<std::string> trace_points(const ModelSpec& spec);

}  // namespace trilith::model
