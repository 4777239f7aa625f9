#include "inspect/config_sizes.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace trilith::inspect {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

int64_t size_of(const Json& config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const std::optional<int64_t> value = config[key].as_integer();
    if (value && *value > 0 && *value < kMaxSize) return *value;
  }
  return 0;
}

void add_shape(std::vector<LogicalShape>& shapes, int64_t rows, int64_t cols, model::Role role) {
  if (rows == 0 || cols == 0) return;
  const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const LogicalShape& shape) {
    return shape.rows == rows && shape.cols == cols;
  });
  if (same != shapes.end()) {
    same->roles.push_back(role);
  } else {
    shapes.push_back({rows, cols, {role}});
  }
}

}  // namespace

ConfigSizes sizes_from_config(const Json& config) {
  ConfigSizes sizes;
  if (const std::string* type = config["model_type"].as_string()) sizes.model_type = *type;
  if (const Json::Array* names = config["architectures"].as_array(); names && !names->empty()) {
    if (const std::string* name = names->front().as_string()) sizes.architecture = *name;
  }
  sizes.hidden = size_of(config, {"hidden_size", "n_embd", "d_model", "dim"});
  sizes.intermediate = size_of(config, {"intermediate_size", "ffn_dim", "n_inner", "hidden_dim"});
  sizes.layers = size_of(config, {"num_hidden_layers", "n_layer", "n_layers"});
  sizes.heads = size_of(config, {"num_attention_heads", "n_head", "n_heads"});
  sizes.kv_heads = size_of(config, {"num_key_value_heads", "n_kv_heads"});
  if (sizes.kv_heads == 0) sizes.kv_heads = sizes.heads;
  sizes.head_dim = size_of(config, {"head_dim"});
  if (sizes.head_dim == 0 && sizes.heads > 0) sizes.head_dim = sizes.hidden / sizes.heads;
  sizes.vocab = size_of(config, {"vocab_size"});
  sizes.experts = size_of(config, {"num_experts", "num_local_experts", "n_routed_experts"}) > 1;
  sizes.tied = config["tie_word_embeddings"].as_bool().value_or(false);
  return sizes;
}

std::vector<LogicalShape> linear_shapes(const ConfigSizes& sizes) {
  using model::Role;
  std::vector<LogicalShape> shapes;
  add_shape(shapes, sizes.q_size(), sizes.hidden, Role::kQProj);
  add_shape(shapes, sizes.kv_size(), sizes.hidden, Role::kKProj);
  add_shape(shapes, sizes.kv_size(), sizes.hidden, Role::kVProj);
  add_shape(shapes, sizes.hidden, sizes.q_size(), Role::kOProj);
  add_shape(shapes, sizes.intermediate, sizes.hidden, Role::kGateProj);
  add_shape(shapes, sizes.intermediate, sizes.hidden, Role::kUpProj);
  add_shape(shapes, sizes.hidden, sizes.intermediate, Role::kDownProj);
  add_shape(shapes, sizes.vocab, sizes.hidden, Role::kLmHead);
  return shapes;
}

}  // namespace trilith::inspect
