#include "model/rope_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace trilith::model {
namespace {

constexpr double kMaxTheta = 1e15;
constexpr double kMaxFactor = 1e6;
constexpr double kMaxPositions = 0x1p31;

constexpr const char* kKinds = "rope_type default, linear, dynamic, llama3 or yarn";

// The keys each kind may carry; every other asks for something that would be left out.
constexpr std::array<std::string_view, 4> kEverywhere = {"rope_type", "type", "rope_theta",
                                                         "partial_rotary_factor"};
constexpr std::array<std::string_view, 2> kOfFactor = {"factor",
                                                       "original_max_position_embeddings"};
constexpr std::array<std::string_view, 4> kOfLlama3 = {"factor", "original_max_position_embeddings",
                                                       "low_freq_factor", "high_freq_factor"};
constexpr std::array<std::string_view, 8> kOfYarn = {
    "factor",    "original_max_position_embeddings",
    "beta_fast", "beta_slow",
    "truncate",  "attention_factor",
    "mscale",    "mscale_all_dim"};

std::span<const std::string_view> keys_of(std::string_view type) {
  if (type == "linear" || type == "dynamic") return kOfFactor;
  if (type == "llama3") return kOfLlama3;
  if (type == "yarn") return kOfYarn;
  return {};
}

Status check_keys(std::string_view where, const Json& json, std::string_view type) {
  for (const auto& [name, value] : *json.as_object()) {
    if (value.is_null()) continue;
    const bool whole = name != "partial_rotary_factor" || value.as_number() == 1.0;
    if (std::ranges::find(kEverywhere, name) != kEverywhere.end() && whole) continue;
    const auto known = keys_of(type);
    if (std::ranges::find(known, name) != known.end()) continue;
    return not_supported(where, fmt::format("'{}': {}", name, value.dump()),
                         fmt::format("what rope_type '{}' knows", type));
  }
  return {};
}

// 0.1 · scale · ln(factor) + 1 (YaRN, section 3.4).
double yarn_scale(double factor, double scale) {
  return factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
}

class Reader {
 public:
  Reader(const ConfigFields& config, const RopeDefaults& defaults)
      : config_(config), defaults_(defaults) {}

  Result<RopeSpec> read() {
    TRILITH_ASSIGN_OR_RETURN(spec_.theta,
                             config_.positive_or("rope_theta", kMaxTheta, defaults_.theta));
    spec_.head_dim = defaults_.head_dim;
    for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
      const Json& json = config_[key];
      if (json.is_null()) continue;
      const auto* members = json.as_object();
      if (members == nullptr) return bad_field(key, std::string(json.type_name()), "an object");
      if (members->empty()) continue;
      TRILITH_RETURN_IF_ERROR(read_object(key, json));
      break;
    }
    TRILITH_ASSIGN_OR_RETURN(const double part,
                             config_.positive_or("partial_rotary_factor", 1e9, 1.0));
    if (part != 1.0) return not_supported("partial_rotary_factor", fmt::format("{}", part), "1");
    return spec_;
  }

 private:
  Status read_object(std::string_view key, const Json& json) {
    const ConfigFields rope(json);
    TRILITH_ASSIGN_OR_RETURN(const std::string older, rope.string_or("type", "default"));
    TRILITH_ASSIGN_OR_RETURN(const std::string type, rope.string_or("rope_type", older));
    if (type != "default" && keys_of(type).empty()) {
      return not_supported(key, "rope_type '" + type + "'", kKinds);
    }
    TRILITH_RETURN_IF_ERROR(check_keys(key, json, type));
    TRILITH_ASSIGN_OR_RETURN(spec_.theta, rope.positive_or("rope_theta", kMaxTheta, spec_.theta));
    if (type == "default") return {};
    TRILITH_RETURN_IF_ERROR(read_factor(rope, type));
    // transformers stretches "dynamic" angles beyond max_position_embeddings only, which no text
    // here exceeds.
    if (type == "dynamic") {
      spec_.factor = 1.0;
      return {};
    }
    if (type == "linear") {
      spec_.scaling = RopeScaling::kLinear;
      return {};
    }
    TRILITH_RETURN_IF_ERROR(read_original(rope));
    return type == "llama3" ? read_llama3(rope) : read_yarn(rope);
  }

  Status read_factor(const ConfigFields& rope, std::string_view type) {
    if (!rope.has("factor") && type == "yarn") {  // the ratio, once the lengths are known
      spec_.factor = 0;
      return {};
    }
    if (!rope.has("factor")) return bad_field("factor", "nothing", "a number of at least 1");
    TRILITH_ASSIGN_OR_RETURN(spec_.factor, rope.positive_or("factor", kMaxFactor, 1.0));
    if (spec_.factor < 1.0) {
      return bad_field("factor", fmt::format("{}", spec_.factor), "a number of at least 1");
    }
    return {};
  }

  // A key at top level goes before one in the object (Phi-3 writes it there).
  Status read_original(const ConfigFields& rope) {
    constexpr std::string_view kKey = "original_max_position_embeddings";
    const ConfigFields& holder = config_.has(kKey) ? config_ : rope;
    TRILITH_ASSIGN_OR_RETURN(
        spec_.original_positions,
        holder.positive_or(kKey, kMaxPositions, static_cast<double>(defaults_.max_positions)));
    return {};
  }

  Status read_llama3(const ConfigFields& rope) {
    spec_.scaling = RopeScaling::kLlama3;
    for (const char* key : {"low_freq_factor", "high_freq_factor"}) {
      if (!rope.has(key)) return bad_field(key, "nothing", "a positive number");
    }
    TRILITH_ASSIGN_OR_RETURN(spec_.low_freq_factor,
                             rope.positive_or("low_freq_factor", kMaxFactor, 1.0));
    TRILITH_ASSIGN_OR_RETURN(spec_.high_freq_factor,
                             rope.positive_or("high_freq_factor", kMaxFactor, 4.0));
    if (spec_.low_freq_factor < spec_.high_freq_factor) return {};
    return bad_field("high_freq_factor", fmt::format("{}", spec_.high_freq_factor),
                     fmt::format("more than low_freq_factor {}", spec_.low_freq_factor));
  }

  Status read_yarn(const ConfigFields& rope) {
    spec_.scaling = RopeScaling::kYarn;
    if (spec_.factor == 0) {
      spec_.factor = static_cast<double>(defaults_.max_positions) / spec_.original_positions;
    }
    TRILITH_ASSIGN_OR_RETURN(spec_.beta_fast, rope.positive_or("beta_fast", kMaxFactor, 32.0));
    TRILITH_ASSIGN_OR_RETURN(spec_.beta_slow, rope.positive_or("beta_slow", kMaxFactor, 1.0));
    TRILITH_ASSIGN_OR_RETURN(spec_.truncate, rope.boolean_or("truncate", true));
    if (spec_.beta_fast < spec_.beta_slow) {
      return bad_field("beta_fast", fmt::format("{}", spec_.beta_fast),
                       fmt::format("at least beta_slow {}", spec_.beta_slow));
    }
    if (spec_.theta <= 1.0) {
      return bad_field("rope_theta", fmt::format("{}", spec_.theta), "more than 1, for YaRN");
    }
    double factor = yarn_scale(spec_.factor, 1.0);
    if (rope.has("mscale") && rope.has("mscale_all_dim")) {
      TRILITH_ASSIGN_OR_RETURN(const double mscale, rope.positive_or("mscale", kMaxFactor, 1.0));
      TRILITH_ASSIGN_OR_RETURN(const double all,
                               rope.positive_or("mscale_all_dim", kMaxFactor, 1.0));
      factor = yarn_scale(spec_.factor, mscale) / yarn_scale(spec_.factor, all);
    }
    TRILITH_ASSIGN_OR_RETURN(spec_.attention_factor,
                             rope.positive_or("attention_factor", kMaxFactor, factor));
    return {};
  }

  const ConfigFields& config_;
  const RopeDefaults& defaults_;
  RopeSpec spec_;
};

}  // namespace

Result<RopeSpec> rope_from_config(const ConfigFields& config, const RopeDefaults& defaults) {
  return Reader(config, defaults).read();
}

Json rope_to_json(const RopeSpec& spec) {
  Json json = Json::object({{"rope_theta", spec.theta}});
  switch (spec.scaling) {
    case RopeScaling::kNone:
      json.set("rope_type", "default");
      return json;
    case RopeScaling::kLinear:
      json.set("rope_type", "linear");
      json.set("factor", spec.factor);
      return json;
    case RopeScaling::kLlama3:
      json.set("rope_type", "llama3");
      json.set("low_freq_factor", spec.low_freq_factor);
      json.set("high_freq_factor", spec.high_freq_factor);
      break;
    case RopeScaling::kYarn:
      json.set("rope_type", "yarn");
      json.set("beta_fast", spec.beta_fast);
      json.set("beta_slow", spec.beta_slow);
      json.set("truncate", spec.truncate);
      json.set("attention_factor", spec.attention_factor);
      break;
  }
  json.set("factor", spec.factor);
  json.set("original_max_position_embeddings", spec.original_positions);
  return json;
}

}  // namespace trilith::model
