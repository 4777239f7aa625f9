#include "model/weights.h"

#include "base/check.h"

namespace trilith::model {

int64_t Linear::rows() const {
  return std::visit([](const auto& matrix) { return matrix.rows; }, weight);
}

int64_t Linear::cols() const {
  return std::visit([](const auto& matrix) { return matrix.cols; }, weight);
}

const Linear& LayerWeights::linear(Role role) const {
  switch (role) {
    case Role::kQProj:
      return q_proj;
    case Role::kKProj:
      return k_proj;
    case Role::kVProj:
      return v_proj;
    case Role::kOProj:
      return o_proj;
    case Role::kGateProj:
      return gate_proj;
    case Role::kUpProj:
      return up_proj;
    case Role::kDownProj:
      return down_proj;
    default:
      TRILITH_CHECK(false);
  }
}

const std::vector<float>& LayerWeights::gain(Role role) const {
  switch (role) {
    case Role::kInputNorm:
      return input_norm;
    case Role::kPostNorm:
      return post_norm;
    case Role::kQNorm:
      return q_norm;
    case Role::kKNorm:
      return k_norm;
    case Role::kAttnSubNorm:
      return attn_sub_norm;
    case Role::kFfnSubNorm:
      return ffn_sub_norm;
    default:
      TRILITH_CHECK(false);
  }
}

std::vector<float>& LayerWeights::gain(Role role) {
  return const_cast<std::vector<float>&>(static_cast<const LayerWeights&>(*this).gain(role));
}

Linear& LayerWeights::linear(Role role) {
  return const_cast<Linear&>(static_cast<const LayerWeights&>(*this).linear(role));
}

}  // namespace trilith::model
