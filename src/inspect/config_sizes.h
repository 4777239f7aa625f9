// ConfigSizes: the sizes a config.json states, read leniently: a stranger's config may hold nothing
// but sizes, or none at all. From them follow the matrix shapes a decoder can have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/roles.h"

namespace trilith::inspect {

struct ConfigSizes {
  std::string model_type;
  std::string architecture;
  int64_t hidden = 0;  // 0 = not stated, here and below
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  bool tied = false;
  bool experts = false;  // several feed-forward parts a layer

  int64_t q_size() const { return heads * head_dim; }
  int64_t kv_size() const { return kv_heads * head_dim; }
};

ConfigSizes sizes_from_config(const Json& config);

// A linear's possible shape with the roles that have it.
struct LogicalShape {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<model::Role> roles;
};
// The distinct shapes of a decoder's linears. Where head sizes are missing only the
// feed-forward shapes are known; empty when the config states no sizes.
std::vector<LogicalShape> linear_shapes(const ConfigSizes& sizes);

}  // namespace trilith::inspect
