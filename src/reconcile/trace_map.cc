#include "reconcile/trace_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/model_spec.h"

namespace trilith::reconcile {
namespace {

constexpr std::string_view kLayer = "{i}";
constexpr std::string_view kPrompt = "{p}";
constexpr size_t kMostDigits = 9;

struct Row {
  std::string_view point;
  std::vector<std::string_view> names;
};

// llama.cpp's Qcur and Kcur are missing: their columns stand in GGUF's order, where the rows of a
// Llama model's q and k are permuted.
const std::vector<Row>& builtin_rows() {
  static const std::vector<Row> rows = {
      {"ids", {"ids", "input_ids", "token_ids", "tokens"}},
      {"embed",
       {"embed", "embed_tokens", "model.embed_tokens", "embedding", "embeddings", "inp_embd"}},
      {"layers.{i}.input_norm",
       {"layers.{i}.input_norm", "model.layers.{i}.input_layernorm", "layer{i}_input_norm",
        "layer{i}_input_layernorm", "layer{i}_attn_norm", "layer{i}_ln1", "attn_norm-{i}"}},
      {"layers.{i}.q_proj",
       {"layers.{i}.q_proj", "model.layers.{i}.self_attn.q_proj", "layer{i}_attn_q", "layer{i}_q",
        "layer{i}_q_proj", "layer{i}_attn_q_proj", "layer{i}_self_attn_q_proj"}},
      {"layers.{i}.k_proj",
       {"layers.{i}.k_proj", "model.layers.{i}.self_attn.k_proj", "layer{i}_attn_k", "layer{i}_k",
        "layer{i}_k_proj", "layer{i}_attn_k_proj", "layer{i}_self_attn_k_proj"}},
      {"layers.{i}.v_proj",
       {"layers.{i}.v_proj", "model.layers.{i}.self_attn.v_proj", "layer{i}_attn_v", "layer{i}_v",
        "layer{i}_v_proj", "layer{i}_attn_v_proj", "layer{i}_self_attn_v_proj", "Vcur-{i}"}},
      {"layers.{i}.q_norm",
       {"layers.{i}.q_norm", "model.layers.{i}.self_attn.q_norm", "layer{i}_q_norm"}},
      {"layers.{i}.k_norm",
       {"layers.{i}.k_norm", "model.layers.{i}.self_attn.k_norm", "layer{i}_k_norm"}},
      {"layers.{i}.q_rope", {"layers.{i}.q_rope", "layer{i}_q_rope", "layer{i}_attn_q_rope"}},
      {"layers.{i}.k_rope", {"layers.{i}.k_rope", "layer{i}_k_rope", "layer{i}_attn_k_rope"}},
      {"layers.{i}.attn",
       {"layers.{i}.attn", "layer{i}_attn_context", "layer{i}_context", "kqv_out-{i}"}},
      {"layers.{i}.attn_sub_norm",
       {"layers.{i}.attn_sub_norm", "model.layers.{i}.self_attn.attn_sub_norm",
        "layer{i}_attn_sub_norm", "attn_sub_norm-{i}"}},
      {"layers.{i}.o_proj",
       {"layers.{i}.o_proj", "model.layers.{i}.self_attn.o_proj", "layer{i}_attn_o",
        "layer{i}_attn_out", "layer{i}_attn_output", "layer{i}_o_proj", "layer{i}_attn_o_proj",
        "layer{i}_self_attn_o_proj", "attn_out-{i}"}},
      {"layers.{i}.attn_residual",
       {"layers.{i}.attn_residual", "layer{i}_attn_residual", "layer{i}_ffn_inp", "ffn_inp-{i}"}},
      {"layers.{i}.post_norm",
       {"layers.{i}.post_norm", "model.layers.{i}.post_attention_layernorm", "layer{i}_post_norm",
        "layer{i}_post_attention_layernorm", "layer{i}_ffn_norm", "layer{i}_mlp_norm",
        "layer{i}_ln2", "ffn_norm-{i}"}},
      {"layers.{i}.gate_proj",
       {"layers.{i}.gate_proj", "model.layers.{i}.mlp.gate_proj", "layer{i}_mlp_gate",
        "layer{i}_ffn_gate", "layer{i}_gate_proj", "layer{i}_mlp_gate_proj", "ffn_gate-{i}"}},
      {"layers.{i}.up_proj",
       {"layers.{i}.up_proj", "model.layers.{i}.mlp.up_proj", "layer{i}_mlp_up", "layer{i}_ffn_up",
        "layer{i}_up_proj", "layer{i}_mlp_up_proj", "ffn_up-{i}"}},
      {"layers.{i}.act",
       {"layers.{i}.act", "layer{i}_act", "layer{i}_mlp_act", "layer{i}_ffn_act",
        "ffn_gate_par-{i}", "ffn_swiglu-{i}"}},
      {"layers.{i}.ffn_sub_norm",
       {"layers.{i}.ffn_sub_norm", "model.layers.{i}.mlp.ffn_sub_norm", "layer{i}_ffn_sub_norm",
        "ffn_sub_norm-{i}"}},
      {"layers.{i}.down_proj",
       {"layers.{i}.down_proj", "model.layers.{i}.mlp.down_proj", "layer{i}_mlp_down",
        "layer{i}_ffn_down", "layer{i}_down_proj", "layer{i}_mlp_down_proj", "layer{i}_ffn_out",
        "ffn_out-{i}"}},
      {"layers.{i}.out",
       {"layers.{i}.out", "model.layers.{i}", "layer{i}_out", "layer{i}_output", "layer{i}",
        "l_out-{i}"}},
      {"final_norm", {"final_norm", "model.norm", "norm", "result_norm"}},
      {"logits", {"logits", "lm_head", "result_output"}},
  };
  return rows;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// The loose form of a name or of a pattern; placeholders count as digits.
std::string loosened(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    if (c == '.' || c == '_' || c == '-' || c == '/' || c == ' ') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const char last = result.empty() ? '_' : result.back();
    const bool number = is_digit(c) || c == '{';
    if (number && is_letter(last)) result += '_';
    if (c == '_' && last == '_') continue;
    result += c;
  }
  return result;
}

struct Numbers {
  std::optional<int64_t> layer, prompt;
};

// Digits at the front of `name` into `number`; a number that is there already must be the same.
bool take_number(std::string_view& name, std::optional<int64_t>& number) {
  size_t count = 0;
  while (count < name.size() && count < kMostDigits && is_digit(name[count])) ++count;
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + count, value);
  if (count == 0 || error != std::errc() || (number && *number != value)) return false;
  number = value;
  name.remove_prefix(count);
  return true;
}

std::optional<Numbers> match(std::string_view pattern, std::string_view name) {
  Numbers numbers;
  while (!pattern.empty()) {
    if (pattern.starts_with(kLayer) || pattern.starts_with(kPrompt)) {
      auto& number = pattern.starts_with(kLayer) ? numbers.layer : numbers.prompt;
      if (!take_number(name, number)) return std::nullopt;
      pattern.remove_prefix(kLayer.size());
      continue;
    }
    if (name.empty() || name.front() != pattern.front()) return std::nullopt;
    name.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  if (!name.empty()) return std::nullopt;
  return numbers;
}

std::string with_layer(const std::string& point, int64_t layer) {
  const size_t at = point.find(kLayer);
  if (at == std::string::npos) return point;
  return point.substr(0, at) + std::to_string(layer) + point.substr(at + kLayer.size());
}

Error bad_map(std::string message) {
  return Error::damaged(std::move(message))
      .with_expected(R"({"points": {"layers.{i}.q_proj": "layer{i}_attn_q", …}})");
}

Result<int64_t> first_number(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  if (member == nullptr) return int64_t{0};
  const auto value = member->as_integer();
  if (value && *value >= 0 && *value <= model::kMaxLayers) return *value;
  return bad_map(fmt::format("'{}' of the map is no small number", key)).with_found(member->dump());
}

Result<std::vector<std::string>> names_of(const std::string& point, const Json& value) {
  std::vector<std::string> names;
  if (const std::string* one = value.as_string()) names.push_back(*one);
  if (const Json::Array* several = value.as_array()) {
    for (const Json& name : *several) {
      if (name.as_string() == nullptr) {
        return bad_map(fmt::format("a name of '{}' is no text", point)).with_found(name.dump());
      }
      names.push_back(*name.as_string());
    }
  }
  if (names.empty()) {
    return bad_map(fmt::format("'{}' has no name", point)).with_found(value.dump());
  }
  const bool layered = point.find(kLayer) != std::string::npos;
  for (const std::string& name : names) {
    if ((name.find(kLayer) != std::string::npos) == layered) continue;
    return bad_map(fmt::format("only one of '{}' and '{}' has the layer {{i}}", point, name));
  }
  return names;
}

}  // namespace

const TraceMap& TraceMap::builtin() {
  static const TraceMap map = [] {
    TraceMap made;
    made.loose_ = true;
    for (const Row& row : builtin_rows()) {
      Entry entry{std::string(row.point), {}};
      for (const std::string_view name : row.names) {
        entry.names.push_back(loosened(name));
        entry.names.push_back("prompt_{p}_" + entry.names.back());
        entry.names.push_back("p_{p}_" + *(entry.names.end() - 2));
      }
      made.entries_.push_back(std::move(entry));
    }
    return made;
  }();
  return map;
}

Result<TraceMap> TraceMap::from_json(const Json& json) {
  const Json::Object* const points = json["points"].as_object();
  if (points == nullptr || points->empty()) {
    return bad_map("the map has no object 'points'").with_found(std::string(json.type_name()));
  }
  TraceMap map;
  TRILITH_ASSIGN_OR_RETURN(map.first_layer_, first_number(json, "first_layer"));
  TRILITH_ASSIGN_OR_RETURN(map.first_prompt_, first_number(json, "first_prompt"));
  for (const auto& [point, value] : *points) {
    if (point.empty()) return bad_map("a point of the map has no name");
    TRILITH_ASSIGN_OR_RETURN(std::vector<std::string> names, names_of(point, value));
    map.entries_.push_back({point, std::move(names)});
  }
  return map;
}

std::optional<DumpPlace> TraceMap::find(std::string_view name) const {
  constexpr std::string_view kOutput = "_output";
  const std::string loose = loose_ ? loosened(name) : std::string(name);
  const auto find_name = [&](std::string_view wanted) -> std::optional<DumpPlace> {
    for (const Entry& entry : entries_) {
      for (const std::string& pattern : entry.names) {
        const auto numbers = match(pattern, wanted);
        if (!numbers) continue;
        const int64_t layer = numbers->layer.value_or(first_layer_) - first_layer_;
        const int64_t prompt = numbers->prompt.value_or(first_prompt_) - first_prompt_;
        if (layer < 0 || layer >= model::kMaxLayers || prompt < 0) continue;
        return DumpPlace{with_layer(entry.point, layer), prompt, numbers->prompt.has_value()};
      }
    }
    return std::nullopt;
  };
  auto found = find_name(loose);
  // Hooks often say what they took: "model.layers.0.mlp.output".
  if (!found && loose_ && loose.ends_with(kOutput)) {
    found = find_name(std::string_view(loose).substr(0, loose.size() - kOutput.size()));
  }
  return found;
}

std::string TraceMap::examples() const {
  std::string text;
  for (const Entry& entry : entries_) {
    if (text.size() > 100) return text + ", …";
    text += (text.empty() ? "" : ", ") + entry.names.front();
  }
  return text;
}

}  // namespace trilith::reconcile
