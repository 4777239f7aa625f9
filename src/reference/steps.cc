#include "reference/steps.h"

#include <initializer_list>

#include "model/trace_sink.h"

namespace trilith::reference {
namespace {

using model::ModuleId;
using model::Role;

class StepList {
 public:
  explicit StepList(const model::ModelSpec& spec) : spec_(spec) {}

  std::vector<Step> build() {
    add(Operation::kEmbed, "embed", {}, {Role::kEmbedding, -1});
    std::string residual = "embed";
    for (int64_t layer = 0; layer < spec_.num_hidden_layers; ++layer) {
      layer_ = layer;
      residual = add_layer(residual);
    }
    add(Operation::kNorm, "final_norm", {residual}, {Role::kFinalNorm, -1});
    add(Operation::kLinear, "logits", {"final_norm"}, {Role::kLmHead, -1});
    return std::move(steps_);
  }

 private:
  // Returns the point of the layer's output.
  std::string add_layer(const std::string& residual) {
    const std::string input = norm("input_norm", residual, Role::kInputNorm);
    std::string q = linear("q_proj", input, Role::kQProj);
    std::string k = linear("k_proj", input, Role::kKProj);
    const std::string v = linear("v_proj", input, Role::kVProj);
    if (spec_.qk_norm) {
      q = in_layer(Operation::kHeadNorm, "q_norm", {q}, Role::kQNorm);
      k = in_layer(Operation::kHeadNorm, "k_norm", {k}, Role::kKNorm);
    }
    if (spec_.layer(layer_).rope) {
      q = in_layer(Operation::kRope, "q_rope", {q}, Role::kQProj);
      k = in_layer(Operation::kRope, "k_rope", {k}, Role::kKProj);
    }
    std::string update = in_layer(Operation::kAttention, "attn", {q, k, v}, Role::kOProj);
    if (spec_.attn_sub_norm) update = norm("attn_sub_norm", update, Role::kAttnSubNorm);
    update = linear("o_proj", update, Role::kOProj);
    const std::string middle =
        in_layer(Operation::kAdd, "attn_residual", {residual, update}, Role::kOProj);
    const std::string mlp = norm("post_norm", middle, Role::kPostNorm);
    const std::string gate = linear("gate_proj", mlp, Role::kGateProj);
    const std::string up = linear("up_proj", mlp, Role::kUpProj);
    update = in_layer(Operation::kGatedActivation, "act", {gate, up}, Role::kDownProj);
    if (spec_.ffn_sub_norm) update = norm("ffn_sub_norm", update, Role::kFfnSubNorm);
    update = linear("down_proj", update, Role::kDownProj);
    return in_layer(Operation::kAdd, "out", {middle, update}, Role::kDownProj);
  }

  std::string norm(std::string_view point, const std::string& input, Role role) {
    return in_layer(Operation::kNorm, point, {input}, role);
  }
  std::string linear(std::string_view point, const std::string& input, Role role) {
    return in_layer(Operation::kLinear, point, {input}, role);
  }
  std::string in_layer(Operation operation, std::string_view point, std::vector<std::string> inputs,
                       Role role) {
    return add(operation, model::layer_point(layer_, point), std::move(inputs), {role, layer_});
  }
  std::string add(Operation operation, std::string point, std::vector<std::string> inputs,
                  ModuleId module) {
    steps_.push_back({operation, std::move(point), std::move(inputs), module});
    return steps_.back().point;
  }

  const model::ModelSpec& spec_;
  int64_t layer_ = -1;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> forward_steps(const model::ModelSpec& spec) { return StepList(spec).build(); }

bool is_row_local(Operation operation) { return operation != Operation::kAttention; }

}  // namespace trilith::reference
