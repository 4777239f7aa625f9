#include "reference/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "reference/ops.h"

namespace trilith::reference {
namespace {

using model::ModuleId;
using model::Role;

constexpr int64_t kMaxAccumulator = INT32_MAX;

Status check_size(const std::string& what, size_t found, int64_t expected) {
  if (static_cast<int64_t>(found) == expected) return {};
  return Error::damaged(fmt::format("{} does not fit the architecture", what))
      .with_expected(fmt::format("{} values", expected))
      .with_found(fmt::format("{}", found));
}

Status check_shape(const std::string& what, int64_t rows, int64_t cols,
                   const model::MatrixShape& expected) {
  if (rows == expected.rows && cols == expected.cols) return {};
  return Error::damaged(fmt::format("{} does not fit the architecture", what))
      .with_expected(fmt::format("[{}, {}]", expected.rows, expected.cols))
      .with_found(fmt::format("[{}, {}]", rows, cols));
}

Status check_spec(const model::ModelSpec& spec) {
  const bool positive = spec.vocab_size > 0 && spec.hidden_size > 0 && spec.intermediate_size > 0 &&
                        spec.num_hidden_layers > 0 && spec.num_attention_heads > 0 &&
                        spec.num_key_value_heads > 0 && spec.head_dim > 0;
  if (!positive) return Error::damaged("the architecture has a size that is not positive");
  if (spec.num_attention_heads % spec.num_key_value_heads != 0) {
    return Error::damaged("the query heads do not divide into the key-value heads")
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
  if (spec.attn_sub_norm && spec.q_size() != spec.hidden_size) {
    return Error::damaged("attn_sub_norm needs as many attention outputs as hidden_size")
        .with_expected(fmt::format("{}", spec.hidden_size))
        .with_found(fmt::format("{}", spec.q_size()));
  }
  return {};
}

Status check_linear(const model::Linear& linear, const ModuleId& id, const model::ModelSpec& spec) {
  const std::string name = model::module_name(id);
  const model::MatrixShape shape = model::module_shape(spec, id.role);
  TRILITH_RETURN_IF_ERROR(check_shape(name, linear.rows(), linear.cols(), shape));
  if (!linear.bias.empty()) {
    TRILITH_RETURN_IF_ERROR(check_size(name + ".bias", linear.bias.size(), shape.rows));
  }
  return {};
}

Status check_layer(const model::LayerWeights& layer, int64_t index, const model::ModelSpec& spec) {
  for (const Role role : {Role::kQProj, Role::kKProj, Role::kVProj, Role::kOProj, Role::kGateProj,
                          Role::kUpProj, Role::kDownProj}) {
    TRILITH_RETURN_IF_ERROR(check_linear(layer.linear(role), {role, index}, spec));
  }
  for (const Role role : {Role::kInputNorm, Role::kPostNorm, Role::kQNorm, Role::kKNorm,
                          Role::kAttnSubNorm, Role::kFfnSubNorm}) {
    const int64_t size = model::has_role(spec, role) ? model::module_shape(spec, role).rows : 0;
    TRILITH_RETURN_IF_ERROR(
        check_size(model::module_name({role, index}), layer.gain(role).size(), size));
  }
  return {};
}

void record(model::TraceSink& sink, const std::string& point, const LinearOutput& output) {
  const Matrix& value = output.value;
  if (output.input) {
    const QuantisedActivation& input = *output.input;
    sink.record_integers(point + ".x_codes", input.rows, input.cols, input.codes);
    const std::vector<float> scales(input.scales.begin(), input.scales.end());
    sink.record(point + ".x_scale", input.rows, 1, scales);
    const auto fits = [](int64_t sum) { return sum >= -kMaxAccumulator && sum <= kMaxAccumulator; };
    if (!output.accumulators.empty() &&
        std::all_of(output.accumulators.begin(), output.accumulators.end(), fits)) {
      std::vector<int32_t> sums(output.accumulators.size());
      std::transform(output.accumulators.begin(), output.accumulators.end(), sums.begin(),
                     [](int64_t sum) { return static_cast<int32_t>(sum); });
      sink.record_integers(point + ".acc", value.rows, value.cols, sums);
    }
  }
  sink.record(point, value.rows, value.cols, to_floats(value));
}

// Columns of each input of a step, in order.
std::vector<int64_t> input_columns(const Step& step, const model::ModelSpec& spec) {
  switch (step.operation) {
    case Operation::kEmbed:
      return {};
    case Operation::kNorm:
      return {model::module_shape(spec, step.module.role).rows};
    case Operation::kLinear:
      return {model::module_shape(spec, step.module.role).cols};
    case Operation::kHeadNorm:
      return {step.module.role == Role::kQNorm ? spec.q_size() : spec.kv_size()};
    case Operation::kRope:
      return {step.module.role == Role::kQProj ? spec.q_size() : spec.kv_size()};
    case Operation::kAttention:
      return {spec.q_size(), spec.kv_size(), spec.kv_size()};
    case Operation::kGatedActivation:
      return {spec.intermediate_size, spec.intermediate_size};
    case Operation::kAdd:
      return {spec.hidden_size, spec.hidden_size};
  }
  TRILITH_CHECK(false);
}

}  // namespace

Result<Reference> Reference::create(const model::Weights& weights, Mode mode, ThreadPool& pool) {
  const model::ModelSpec& spec = weights.spec;
  TRILITH_RETURN_IF_ERROR(check_spec(spec));
  const model::MatrixShape table{spec.vocab_size, spec.hidden_size};
  TRILITH_RETURN_IF_ERROR(
      check_shape("the embedding", weights.embedding.rows, weights.embedding.cols, table));
  TRILITH_RETURN_IF_ERROR(check_size("the embedding", weights.embedding.values.size(),
                                     spec.vocab_size * spec.hidden_size));
  TRILITH_RETURN_IF_ERROR(
      check_size("the list of layers", weights.layers.size(), spec.num_hidden_layers));
  for (int64_t layer = 0; layer < spec.num_hidden_layers; ++layer) {
    TRILITH_RETURN_IF_ERROR(check_layer(weights.layers[static_cast<size_t>(layer)], layer, spec));
  }
  TRILITH_RETURN_IF_ERROR(
      check_size("the final norm", weights.final_norm.size(), spec.hidden_size));
  if (!weights.tied) {
    TRILITH_RETURN_IF_ERROR(check_linear(weights.lm_head, {Role::kLmHead, -1}, spec));
  }
  return Reference(weights, mode, pool);
}

Mode Reference::default_mode(const model::ModelSpec& spec) {
  return spec.int8_activations ? Mode::kA8 : Mode::kA16;
}

const Step* Reference::find_step(std::string_view point) const {
  const auto found = std::find_if(steps_.begin(), steps_.end(),
                                  [point](const Step& step) { return step.point == point; });
  return found == steps_.end() ? nullptr : &*found;
}

Status Reference::check_ids(std::span<const int32_t> ids) const {
  const model::ModelSpec& spec = weights_->spec;
  if (ids.empty()) return Error::usage("there is no token to run");
  if (spec.max_position_embeddings > 0 &&
      static_cast<int64_t>(ids.size()) > spec.max_position_embeddings) {
    return Error::usage("more tokens than the model has positions")
        .with_expected(fmt::format("at most {}", spec.max_position_embeddings))
        .with_found(fmt::format("{}", ids.size()));
  }
  for (size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < 0 || ids[t] >= spec.vocab_size) {
      return Error::usage(fmt::format("token {} is outside the vocabulary", t))
          .with_expected(fmt::format("0 … {}", spec.vocab_size - 1))
          .with_found(fmt::format("{}", ids[t]));
    }
  }
  return {};
}

Status Reference::check_shapes(const Step& step, const StepInputs& inputs) const {
  if (step.operation == Operation::kEmbed) return check_ids(inputs.ids);
  const std::vector<int64_t> columns = input_columns(step, weights_->spec);
  if (inputs.values.size() != columns.size()) {
    return Error::usage(fmt::format("{}: wrong number of inputs", step.point))
        .with_expected(fmt::format("{}", columns.size()))
        .with_found(fmt::format("{}", inputs.values.size()));
  }
  const int64_t rows = inputs.values[0]->rows;
  for (size_t i = 0; i < columns.size(); ++i) {
    TRILITH_RETURN_IF_ERROR(check_shape(fmt::format("input {} of {}", i, step.point),
                                        inputs.values[i]->rows, inputs.values[i]->cols,
                                        {rows, columns[i]}));
  }
  if (!inputs.positions.empty() && static_cast<int64_t>(inputs.positions.size()) != rows) {
    return Error::usage(fmt::format("{}: one position a row is needed", step.point))
        .with_expected(fmt::format("{}", rows))
        .with_found(fmt::format("{}", inputs.positions.size()));
  }
  return {};
}

std::span<const float> Reference::gain(const ModuleId& module) const {
  if (module.role == Role::kFinalNorm) return weights_->final_norm;
  return weights_->layers[static_cast<size_t>(module.layer)].gain(module.role);
}

const model::Linear& Reference::linear_weights(const ModuleId& module) const {
  if (module.role == Role::kLmHead) return weights_->lm_head;
  return weights_->layers[static_cast<size_t>(module.layer)].linear(module.role);
}

Result<LinearOutput> Reference::evaluate(const Step& step, const StepInputs& inputs) const {
  TRILITH_RETURN_IF_ERROR(check_shapes(step, inputs));
  const model::ModelSpec& spec = weights_->spec;
  const auto input = [&](size_t index) -> const Matrix& { return *inputs.values[index]; };
  LinearOutput output;
  switch (step.operation) {
    case Operation::kEmbed:
      output.value = embed(weights_->embedding, inputs.ids);
      break;
    case Operation::kNorm:
      output.value = rms_norm(input(0), gain(step.module), spec.rms_norm_eps);
      break;
    case Operation::kHeadNorm:
      output.value = head_norm(input(0), gain(step.module), spec.rms_norm_eps);
      break;
    case Operation::kLinear:
      if (step.module.role == Role::kLmHead && weights_->tied) {
        output.value = multiply(weights_->embedding, input(0), *pool_);
      } else {
        output = linear(linear_weights(step.module), input(0), mode_, *pool_);
      }
      break;
    case Operation::kRope: {
      std::vector<int64_t> positions(inputs.positions.begin(), inputs.positions.end());
      if (positions.empty()) {
        positions.resize(static_cast<size_t>(input(0).rows));
        std::iota(positions.begin(), positions.end(), int64_t{0});
      }
      output.value = rope(input(0), input(0).cols / spec.head_dim, spec.rope, positions);
      break;
    }
    case Operation::kAttention:
      output.value = attention(input(0), input(1), input(2), spec,
                               spec.layer(step.module.layer).window, *pool_);
      break;
    case Operation::kGatedActivation:
      output.value = gated_activation(input(0), input(1), spec.activation);
      break;
    case Operation::kAdd:
      output.value = add(input(0), input(1));
      break;
  }
  return output;
}

Result<LinearOutput> Reference::evaluate_codes(const Step& step, QuantisedActivation input) const {
  const bool tied_head = step.module.role == Role::kLmHead && weights_->tied;
  if (step.operation != Operation::kLinear || tied_head ||
      !linear_weights(step.module).is_quantised()) {
    return Error::usage(fmt::format("{} is no linear with quantised weights", step.point));
  }
  const bool whole = input.rows >= 0 && input.cols >= 0 &&
                     input.scales.size() == static_cast<size_t>(input.rows) &&
                     input.codes.size() == static_cast<size_t>(input.rows * input.cols);
  if (!whole || input.cols != linear_weights(step.module).cols()) {
    return Error::usage(fmt::format("the codes do not fit {}", step.point))
        .with_expected(fmt::format("{} columns", linear_weights(step.module).cols()))
        .with_found(fmt::format("{} of {} rows, {} codes, {} scales", input.cols, input.rows,
                                input.codes.size(), input.scales.size()));
  }
  return linear_from_codes(linear_weights(step.module), std::move(input), *pool_);
}

Result<Matrix> Reference::run(std::span<const int32_t> ids, model::TraceSink* sink) const {
  TRILITH_RETURN_IF_ERROR(check_ids(ids));
  std::map<std::string, size_t, std::less<>> last_reader;  // of a point
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const std::string& point : steps_[i].inputs) last_reader[point] = i;
  }
  std::map<std::string, Matrix, std::less<>> alive;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    StepInputs inputs;
    inputs.ids = ids;
    for (const std::string& point : step.inputs) inputs.values.push_back(&alive.at(point));
    TRILITH_ASSIGN_OR_RETURN(LinearOutput output, evaluate(step, inputs));
    if (sink != nullptr) record(*sink, step.point, output);
    for (const std::string& point : step.inputs) {
      if (last_reader.at(point) == i) alive.erase(point);
    }
    alive.insert_or_assign(step.point, std::move(output.value));
  }
  return std::move(alive.at("logits"));
}

}  // namespace trilith::reference
