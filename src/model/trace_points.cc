#include <fmt/format.h>

#include "model/trace_sink.h"

namespace trilith::model {

std::string layer_point(int64_t layer, std::string_view point) {
  return fmt::format("layers.{}.{}", layer, point);
}

std::vector<std::string> trace_points(const ModelSpec& spec) {
  std::vector<std::string> points = {"embed"};
  for (int64_t layer = 0; layer < spec.num_hidden_layers; ++layer) {
    for (const std::string_view point :
         {"input_norm", "q_proj", "k_proj", "v_proj", "q_norm", "k_norm", "q_rope", "k_rope",
          "attn", "attn_sub_norm", "o_proj", "attn_residual", "post_norm", "gate_proj", "up_proj",
          "act", "ffn_sub_norm", "down_proj", "out"}) {
      if ((point == "q_norm" || point == "k_norm") && !spec.qk_norm) continue;
      if ((point == "q_rope" || point == "k_rope") && !spec.layer(layer).rope) continue;
      if (point == "attn_sub_norm" && !spec.attn_sub_norm) continue;
      if (point == "ffn_sub_norm" && !spec.ffn_sub_norm) continue;
      points.push_back(layer_point(layer, point));
    }
  }
  points.emplace_back("final_norm");
  points.emplace_back("logits");
  return points;
}

}  // namespace trilith::model
