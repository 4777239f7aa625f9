#include "engine/prepared_model.h"

#include <fmt/format.h>

namespace trilith::engine {
namespace {

using model::ModelSpec;
using model::Role;

Status check_spec(const ModelSpec& spec) {
  const bool positive = spec.vocab_size > 0 && spec.hidden_size > 0 && spec.intermediate_size > 0 &&
                        spec.num_hidden_layers > 0 && spec.num_attention_heads > 0 &&
                        spec.num_key_value_heads > 0 && spec.head_dim > 0 &&
                        spec.max_position_embeddings > 0;
  if (!positive) return Error::damaged("the architecture has a size that is not positive");
  if (spec.num_attention_heads % spec.num_key_value_heads != 0) {
    return Error::damaged("the query heads do not divide into the key/value heads")
        .with_found(fmt::format("{} and {}", spec.num_attention_heads, spec.num_key_value_heads));
  }
  if (spec.head_dim % 2 != 0 || spec.rope.head_dim != spec.head_dim) {
    return Error::unsupported("rotary positions over part of a head, or an odd head")
        .with_expected(fmt::format("{}", spec.head_dim))
        .with_found(fmt::format("{}", spec.rope.head_dim));
  }
  if (!spec.layers.empty() && spec.layers.size() != static_cast<size_t>(spec.num_hidden_layers)) {
    return Error::damaged("the list of layers is not as long as the model is deep")
        .with_expected(fmt::format("{}", spec.num_hidden_layers))
        .with_found(fmt::format("{}", spec.layers.size()));
  }
  if (spec.activation != model::MlpActivation::kSilu &&
      spec.activation != model::MlpActivation::kRelu2) {
    return Error::unsupported("the engine has no kernel for the activation of this model")
        .with_expected("silu or relu2");
  }
  return {};
}

Status check_gain(const std::vector<float>& gain, int64_t expected, Role role, int64_t layer) {
  if (gain.size() == static_cast<size_t>(expected)) return {};
  return Error::damaged("a norm does not fit the architecture")
      .with_tensor(model::module_name({role, layer}))
      .with_expected(std::to_string(expected))
      .with_found(std::to_string(gain.size()));
}

Result<PreparedLinear> prepare_checked(model::Linear&& linear, const ModelSpec& spec, Role role,
                                       int64_t layer, Mode mode) {
  const model::MatrixShape shape = model::module_shape(spec, role);
  if (linear.rows() != shape.rows || linear.cols() != shape.cols) {
    return Error::damaged("a linear does not fit the architecture")
        .with_tensor(model::module_name({role, layer}))
        .with_expected(fmt::format("[{}, {}]", shape.rows, shape.cols))
        .with_found(fmt::format("[{}, {}]", linear.rows(), linear.cols()));
  }
  return prepare_linear(std::move(linear), {role, layer}, mode);
}

Result<PreparedLayer> prepare_layer(model::LayerWeights&& weights, const ModelSpec& spec,
                                    int64_t layer, Mode mode) {
  PreparedLayer prepared;
  const struct {
    std::vector<float>* to;
    Role role;
  } gains[] = {{&prepared.input_norm, Role::kInputNorm},
               {&prepared.post_norm, Role::kPostNorm},
               {&prepared.q_norm, Role::kQNorm},
               {&prepared.k_norm, Role::kKNorm},
               {&prepared.attn_sub_norm, Role::kAttnSubNorm},
               {&prepared.ffn_sub_norm, Role::kFfnSubNorm}};
  for (const auto& gain : gains) {
    const int64_t size =
        model::has_role(spec, gain.role) ? model::module_shape(spec, gain.role).rows : 0;
    std::vector<float>& from = weights.gain(gain.role);
    TRILITH_RETURN_IF_ERROR(check_gain(from, size, gain.role, layer));
    *gain.to = std::move(from);
  }
  const struct {
    PreparedLinear* to;
    Role role;
  } linears[] = {{&prepared.q_proj, Role::kQProj},       {&prepared.k_proj, Role::kKProj},
                 {&prepared.v_proj, Role::kVProj},       {&prepared.o_proj, Role::kOProj},
                 {&prepared.gate_proj, Role::kGateProj}, {&prepared.up_proj, Role::kUpProj},
                 {&prepared.down_proj, Role::kDownProj}};
  for (const auto& linear : linears) {
    model::Linear from = std::move(weights.linear(linear.role));
    TRILITH_ASSIGN_OR_RETURN(*linear.to,
                             prepare_checked(std::move(from), spec, linear.role, layer, mode));
  }
  return prepared;
}

// `take` gives a part of the weights for keeps: moved out of them, or copied.
template <typename Weights, typename Take>
Result<PreparedModel> prepare(Weights& weights, Mode mode, Take take) {
  PreparedModel prepared;
  prepared.spec = take(weights.spec);
  const ModelSpec& spec = prepared.spec;
  TRILITH_RETURN_IF_ERROR(check_spec(spec));
  if (weights.embedding.rows != spec.vocab_size || weights.embedding.cols != spec.hidden_size ||
      weights.embedding.values.size() !=
          static_cast<uint64_t>(spec.vocab_size) * static_cast<uint64_t>(spec.hidden_size)) {
    return Error::damaged("the embedding does not fit the architecture")
        .with_expected(fmt::format("[{}, {}]", spec.vocab_size, spec.hidden_size))
        .with_found(fmt::format("[{}, {}]", weights.embedding.rows, weights.embedding.cols));
  }
  if (weights.layers.size() != static_cast<size_t>(spec.num_hidden_layers)) {
    return Error::damaged("the number of layers does not fit the architecture")
        .with_expected(std::to_string(spec.num_hidden_layers))
        .with_found(std::to_string(weights.layers.size()));
  }
  prepared.embedding = DenseRows(take(weights.embedding));
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    TRILITH_ASSIGN_OR_RETURN(PreparedLayer done, prepare_layer(take(weights.layers[i]), spec,
                                                               static_cast<int64_t>(i), mode));
    for (const PreparedLinear* linear : {&done.q_proj, &done.k_proj, &done.v_proj, &done.o_proj,
                                         &done.gate_proj, &done.up_proj, &done.down_proj}) {
      prepared.linear_bytes += linear->bytes();
    }
    prepared.layers.push_back(std::move(done));
  }
  TRILITH_RETURN_IF_ERROR(check_gain(weights.final_norm, spec.hidden_size, Role::kFinalNorm, -1));
  prepared.final_norm = take(weights.final_norm);
  prepared.tied = weights.tied;
  if (prepared.tied) {
    prepared.linear_bytes += prepared.embedding.bytes();
  } else {
    TRILITH_ASSIGN_OR_RETURN(prepared.lm_head,
                             prepare_checked(take(weights.lm_head), spec, Role::kLmHead, -1, mode));
    prepared.linear_bytes += prepared.lm_head.bytes();
  }
  return prepared;
}

}  // namespace

Result<PreparedModel> prepare_model(model::Weights&& weights, Mode mode) {
  return prepare(weights, mode, [](auto& part) { return std::move(part); });
}

Result<PreparedModel> prepare_model(const model::Weights& weights, Mode mode) {
  return prepare(weights, mode, [](const auto& part) { return part; });
}

}  // namespace trilith::engine
