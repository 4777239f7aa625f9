#include "model/model_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "model/config_fields.h"
#include "model/families.h"
#include "model/layer_config.h"
#include "model/rope_config.h"

namespace trilith::model {
namespace {

constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
constexpr int64_t kMaxSize = int64_t{1} << 20;
constexpr int64_t kMaxPositions = int64_t{1} << 31;

struct ActivationName {
  std::string_view name;
  MlpActivation activation;
};
// transformers' ACT2FN; names that mean the same function share a value.
constexpr std::array<ActivationName, 9> kActivations = {{
    {"silu", MlpActivation::kSilu},
    {"swish", MlpActivation::kSilu},
    {"relu2", MlpActivation::kRelu2},
    {"relu", MlpActivation::kRelu},
    {"gelu", MlpActivation::kGeluErf},
    {"gelu_python", MlpActivation::kGeluErf},
    {"gelu_pytorch_tanh", MlpActivation::kGeluTanh},
    {"gelu_python_tanh", MlpActivation::kGeluTanh},
    {"gelu_new", MlpActivation::kGeluTanh},
}};

std::string supported_architectures() {
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.architecture);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<const Family*> family_of(const ConfigFields& config) {
  TRILITH_ASSIGN_OR_RETURN(const std::string model_type, config.string_or("model_type", ""));
  std::string architecture;
  if (const auto* names = config["architectures"].as_array(); names != nullptr && !names->empty()) {
    if (const std::string* name = names->front().as_string()) architecture = *name;
  }
  if (model_type.empty() && architecture.empty()) {
    return Error::unsupported("config.json names neither model_type nor architectures")
        .with_file("config.json")
        .with_expected(supported_architectures())
        .with_hint("add \"model_type\": \"llama\" if the model is one");
  }
  for (const Family& family : families()) {
    if (!model_type.empty() && family.model_type != model_type) continue;
    if (!architecture.empty() && family.architecture != architecture) continue;
    return &family;
  }
  return Error::unsupported("the architecture is not supported")
      .with_file("config.json")
      .with_expected(supported_architectures())
      .with_found(architecture.empty()
                      ? "model_type " + model_type
                      : fmt::format("{} (model_type '{}')", architecture, model_type))
      .with_hint("a new architecture needs a row in src/model/families.cc (docs/MODELS.md)");
}

Result<MlpActivation> activation_of(const ConfigFields& config, const Family& family) {
  TRILITH_ASSIGN_OR_RETURN(const std::string name,
                           config.string_or("hidden_act", family.hidden_act));
  for (const ActivationName& row : kActivations) {
    if (row.name == name) return row.activation;
  }
  std::vector<std::string_view> names;
  for (const ActivationName& row : kActivations) names.push_back(row.name);
  return not_supported("hidden_act", name, fmt::format("one of {}", fmt::join(names, ", ")));
}

// An id or a list of ids; generation_config.json has the last word. Ids outside the vocabulary can
// never be produced (config classes carry defaults of larger models) and are left out.
Result<std::vector<int64_t>> token_ids(std::string_view key, const Json& config,
                                       const Json& generation_config, int64_t vocab_size) {
  const bool decided = !generation_config[key].is_null();
  const Json& value = decided ? generation_config[key] : config[key];
  const Json::Array single = {value};
  const auto* items = value.is_null() ? nullptr : value.is_array() ? value.as_array() : &single;
  std::vector<int64_t> ids;
  if (items == nullptr) return ids;
  for (const Json& item : *items) {
    const auto id = item.as_integer();
    if (!id) {
      return bad_field(key, value.dump(), "a token id or a list of them")
          .with_context(decided ? "generation_config.json" : "config.json");
    }
    if (*id < 0 || *id >= vocab_size) {
      log_debug(fmt::format("{} {} lies outside the vocabulary of {} and is ignored", key, *id,
                            vocab_size));
    } else if (std::ranges::find(ids, *id) == ids.end()) {
      ids.push_back(*id);
    }
  }
  return ids;
}

Status read_sizes(const ConfigFields& config, const Family& family, ModelSpec& spec) {
  const IntegerRange size{1, kMaxSize};
  TRILITH_ASSIGN_OR_RETURN(spec.vocab_size, config.integer("vocab_size", {1, kMaxVocabulary}));
  TRILITH_ASSIGN_OR_RETURN(spec.hidden_size, config.integer("hidden_size", size));
  TRILITH_ASSIGN_OR_RETURN(spec.intermediate_size, config.integer("intermediate_size", size));
  TRILITH_ASSIGN_OR_RETURN(spec.num_hidden_layers,
                           config.integer("num_hidden_layers", {1, kMaxLayers}));
  TRILITH_ASSIGN_OR_RETURN(spec.num_attention_heads, config.integer("num_attention_heads", size));
  // Null means "as many as attention heads"; only an absent key takes the family's number.
  const bool absent = config.is_absent("num_key_value_heads");
  const int64_t heads =
      absent && family.key_value_heads != 0 ? family.key_value_heads : spec.num_attention_heads;
  TRILITH_ASSIGN_OR_RETURN(spec.num_key_value_heads,
                           config.integer_or("num_key_value_heads", size, heads));
  // Null means the quotient too; only an absent key takes the family's number.
  const int64_t head_dim = config.is_absent("head_dim") ? family.head_dim : 0;
  TRILITH_ASSIGN_OR_RETURN(spec.head_dim, config.integer_or("head_dim", size, head_dim));
  TRILITH_ASSIGN_OR_RETURN(
      spec.max_position_embeddings,
      config.integer_or("max_position_embeddings", {1, kMaxPositions}, family.max_positions));
  if (spec.head_dim == 0) {
    if (spec.hidden_size % spec.num_attention_heads != 0) {
      return bad_field("num_attention_heads", fmt::format("{}", spec.num_attention_heads),
                       fmt::format("a divisor of hidden_size {}", spec.hidden_size));
    }
    spec.head_dim = spec.hidden_size / spec.num_attention_heads;
  }
  if (spec.num_attention_heads % spec.num_key_value_heads != 0) {
    return bad_field("num_key_value_heads", fmt::format("{}", spec.num_key_value_heads),
                     fmt::format("a divisor of num_attention_heads {}", spec.num_attention_heads));
  }
  if (spec.head_dim % 2 != 0) {
    return bad_field("head_dim", fmt::format("{}", spec.head_dim), "an even number, for RoPE");
  }
  if (spec.q_size() > kMaxSize) {
    return bad_field("head_dim", fmt::format("{}", spec.head_dim),
                     fmt::format("heads times head_dim of at most {}", kMaxSize));
  }
  if (family.sub_norms && spec.q_size() != spec.hidden_size) {
    return bad_field(
        "head_dim", fmt::format("{}", spec.head_dim),
        fmt::format("heads times head_dim equal to hidden_size {}, which attn_sub_norm "
                    "spans",
                    spec.hidden_size));
  }
  return {};
}

Status read_biases(const ConfigFields& config, const Family& family, ModelSpec& spec) {
  TRILITH_ASSIGN_OR_RETURN(const bool attention, config.boolean_or("attention_bias", false));
  spec.qkv_bias =
      family.bias == BiasRule::kAlwaysQkv || (family.bias == BiasRule::kAsConfigured && attention);
  spec.o_bias = family.bias == BiasRule::kAsConfigured && attention;
  TRILITH_ASSIGN_OR_RETURN(spec.mlp_bias, config.boolean_or("mlp_bias", false));
  if (spec.mlp_bias && !family.mlp_bias_allowed) {
    return not_supported("mlp_bias", "true", fmt::format("false for {}", family.architecture));
  }
  return {};
}

}  // namespace

Result<ModelSpec> model_spec_from_config(const Json& config, const Json& generation_config) {
  if (!config.is_object()) {
    return Error::unsupported("the architecture is not known: config.json is missing or no object")
        .with_file("config.json")
        .with_hint("put the model's config.json beside the weights");
  }
  const ConfigFields fields(config);
  TRILITH_ASSIGN_OR_RETURN(const Family* family, family_of(fields));
  ModelSpec spec;
  spec.model_type = family->model_type;
  spec.architecture = family->architecture;
  TRILITH_RETURN_IF_ERROR(read_sizes(fields, *family, spec));
  TRILITH_ASSIGN_OR_RETURN(spec.rms_norm_eps,
                           fields.positive_or("rms_norm_eps", 1.0, family->rms_norm_eps));
  TRILITH_ASSIGN_OR_RETURN(spec.activation, activation_of(fields, *family));
  TRILITH_ASSIGN_OR_RETURN(
      spec.rope, rope_from_config(fields, {.theta = family->rope_theta,
                                           .head_dim = spec.head_dim,
                                           .max_positions = spec.max_position_embeddings}));
  TRILITH_ASSIGN_OR_RETURN(spec.layers,
                           layers_from_config(fields, *family, spec.num_hidden_layers));
  TRILITH_ASSIGN_OR_RETURN(spec.tie_word_embeddings,
                           fields.boolean_or("tie_word_embeddings", family->tied));
  TRILITH_RETURN_IF_ERROR(read_biases(fields, *family, spec));
  spec.qk_norm = family->qk_norm;
  spec.attn_sub_norm = family->sub_norms;
  spec.ffn_sub_norm = family->sub_norms;
  const std::string* method = config["quantization_config"]["quant_method"].as_string();
  spec.int8_activations = family->sub_norms || (method != nullptr && *method == "bitnet");
  TRILITH_ASSIGN_OR_RETURN(spec.eos_token_ids,
                           token_ids("eos_token_id", config, generation_config, spec.vocab_size));
  TRILITH_ASSIGN_OR_RETURN(spec.bos_token_ids,
                           token_ids("bos_token_id", config, generation_config, spec.vocab_size));
  return spec;
}

Json to_json(const ModelSpec& spec) {
  const char* activation = "silu";
  for (const ActivationName& row : kActivations) {
    if (row.activation != spec.activation) continue;
    activation = row.name.data();
    break;
  }
  Json json = Json::object({{"model_type", spec.model_type},
                            {"architectures", Json(Json::Array{spec.architecture})},
                            {"vocab_size", spec.vocab_size},
                            {"hidden_size", spec.hidden_size},
                            {"intermediate_size", spec.intermediate_size},
                            {"num_hidden_layers", spec.num_hidden_layers},
                            {"num_attention_heads", spec.num_attention_heads},
                            {"num_key_value_heads", spec.num_key_value_heads},
                            {"head_dim", spec.head_dim},
                            {"max_position_embeddings", spec.max_position_embeddings},
                            {"rms_norm_eps", spec.rms_norm_eps},
                            {"hidden_act", activation},
                            {"tie_word_embeddings", spec.tie_word_embeddings},
                            {"attention_bias", spec.o_bias},
                            {"mlp_bias", spec.mlp_bias},
                            {"attn_sub_norm", spec.attn_sub_norm},
                            {"ffn_sub_norm", spec.ffn_sub_norm},
                            {"int8_activations", spec.int8_activations},
                            {"eos_token_id", Json::array(spec.eos_token_ids)},
                            {"bos_token_id", Json::array(spec.bos_token_ids)}});
  if (spec.rope.scaling == RopeScaling::kNone) {
    json.set("rope_theta", spec.rope.theta);
  } else {
    json.set("rope_parameters", rope_to_json(spec.rope));
  }
  const auto family = std::ranges::find(families(), spec.model_type, &Family::model_type);
  if (family != families().end()) add_layers(spec, *family, json);
  return json;
}

}  // namespace trilith::model
