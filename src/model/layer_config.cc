#include "model/layer_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace trilith::model {
namespace {

constexpr IntegerRange kWindow{1, int64_t{1} << 31};

class Reader {
 public:
  Reader(const ConfigFields& config, const Family& family, int64_t layers)
      : config_(config), family_(family), layers_(static_cast<size_t>(layers)) {}

  Result<std::vector<LayerSpec>> read() {
    switch (family_.layers) {
      case LayerRule::kAllAlike:
        break;
      case LayerRule::kOneWindow:
        TRILITH_RETURN_IF_ERROR(read_one_window());
        break;
      case LayerRule::kLateWindow:
        TRILITH_RETURN_IF_ERROR(read_late_window());
        break;
      case LayerRule::kNope:
        TRILITH_RETURN_IF_ERROR(read_nope());
        break;
    }
    const bool alike =
        std::ranges::all_of(layers_, [](const LayerSpec& layer) { return layer == LayerSpec{}; });
    if (alike) layers_.clear();
    return std::move(layers_);
  }

 private:
  // sliding_window, 0 for none: null switches it off, only an absent key takes the default.
  Result<int64_t> window() const {
    const bool absent = config_.is_absent("sliding_window");
    return config_.integer_or("sliding_window", kWindow, absent ? family_.window : 0);
  }

  Result<int64_t> window_in_use() const {
    TRILITH_ASSIGN_OR_RETURN(const bool used, config_.boolean_or("use_sliding_window", false));
    return used ? window() : Result<int64_t>(0);
  }

  Status read_one_window() {
    if (config_.has("layer_types")) {
      return not_supported("layer_types", config_["layer_types"].dump(),
                           fmt::format("none: {} has one window", family_.architecture));
    }
    TRILITH_ASSIGN_OR_RETURN(const int64_t size, window());
    for (LayerSpec& layer : layers_) layer.window = size;
    return {};
  }

  Status read_late_window() {
    TRILITH_ASSIGN_OR_RETURN(const int64_t size, window_in_use());
    if (config_.has("layer_types")) return read_types(size);
    TRILITH_ASSIGN_OR_RETURN(const int64_t first,
                             config_.integer_or("max_window_layers", {0, kMaxLayers}, 28));
    for (size_t i = static_cast<size_t>(first); i < layers_.size(); ++i) layers_[i].window = size;
    return {};
  }

  Status read_nope() {
    TRILITH_RETURN_IF_ERROR(read_no_rope_layers());
    TRILITH_ASSIGN_OR_RETURN(const int64_t size, window_in_use());
    if (config_.has("layer_types")) return read_types(size);
    for (LayerSpec& layer : layers_) layer.window = layer.rope ? 0 : size;
    return {};
  }

  // A 1 means that the layer has positions, whatever the key's name suggests.
  Status read_no_rope_layers() {
    constexpr std::string_view kKey = "no_rope_layers";
    if (!config_.has(kKey)) {
      TRILITH_ASSIGN_OR_RETURN(const int64_t interval,
                               config_.integer_or("no_rope_layer_interval", {1, kMaxLayers}, 4));
      for (size_t i = 0; i < layers_.size(); ++i) {
        layers_[i].rope = (i + 1) % static_cast<size_t>(interval) != 0;
      }
      return {};
    }
    const auto* flags = config_[kKey].as_array();
    if (flags == nullptr || flags->size() < layers_.size()) {
      return bad_field(kKey, config_[kKey].dump(),
                       fmt::format("a list of at least {} entries", layers_.size()));
    }
    for (size_t i = 0; i < layers_.size(); ++i) {
      const auto flag = (*flags)[i].as_integer();
      if (!flag || (*flag != 0 && *flag != 1)) {
        return bad_field(kKey, (*flags)[i].dump(), "0 or 1");
      }
      layers_[i].rope = *flag == 1;
    }
    return {};
  }

  Status read_types(int64_t size) {
    constexpr std::string_view kKey = "layer_types";
    const auto* types = config_[kKey].as_array();
    if (types == nullptr || types->size() != layers_.size()) {
      return bad_field(kKey, config_[kKey].dump(),
                       fmt::format("a list of {} entries", layers_.size()));
    }
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Json& type = (*types)[i];
      if (type == Json("full_attention")) continue;
      if (type != Json("sliding_attention")) {
        return not_supported(kKey, type.dump(), "full_attention or sliding_attention");
      }
      if (size == 0) {
        return bad_field(kKey, fmt::format("sliding_attention in layer {}", i),
                         "full_attention everywhere where no sliding_window is used");
      }
      layers_[i].window = size;
    }
    return {};
  }

  const ConfigFields& config_;
  const Family& family_;
  std::vector<LayerSpec> layers_;
};

}  // namespace

Result<std::vector<LayerSpec>> layers_from_config(const ConfigFields& config, const Family& family,
                                                  int64_t layers) {
  return Reader(config, family, layers).read();
}

void add_layers(const ModelSpec& spec, const Family& family, Json& json) {
  if (family.layers == LayerRule::kAllAlike) return;
  int64_t window = 0;
  Json::Array types;
  Json::Array rope;
  for (int64_t i = 0; i < spec.num_hidden_layers; ++i) {
    const LayerSpec layer = spec.layer(i);
    window = std::max(window, layer.window);
    types.emplace_back(layer.window != 0 ? "sliding_attention" : "full_attention");
    rope.emplace_back(static_cast<int64_t>(layer.rope ? 1 : 0));
  }
  json.set("sliding_window", window != 0 ? Json(window) : Json());
  if (family.layers == LayerRule::kOneWindow) return;
  json.set("use_sliding_window", window != 0);
  json.set("layer_types", Json(std::move(types)));
  if (family.layers == LayerRule::kNope) json.set("no_rope_layers", Json(std::move(rope)));
}

}  // namespace trilith::model
