#include "model/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"

namespace trilith::model {
namespace {

enum class Kind { kEmbedding, kNorm, kLinear };

// One row a role. Names in other programs are those of transformers, vLLM and gguf-py for the
// Llama and BitNet classes; in a layer they follow "model.layers.N." or "blk.N.".
struct RoleRow {
  Role role;
  std::string_view name;
  Kind kind;
  bool in_layer;
  std::string_view transformers;
  std::string_view vllm_fused;  // the parameter it is merged into, or empty
  std::string_view shard;
  std::string_view gguf;
};
constexpr std::array<RoleRow, 16> kRows = {{
    {Role::kEmbedding, "embed", Kind::kEmbedding, false, "model.embed_tokens", "", "",
     "token_embd"},
    {Role::kInputNorm, "input_norm", Kind::kNorm, true, "input_layernorm", "", "", "attn_norm"},
    {Role::kQProj, "q_proj", Kind::kLinear, true, "self_attn.q_proj", "self_attn.qkv_proj", "q",
     "attn_q"},
    {Role::kKProj, "k_proj", Kind::kLinear, true, "self_attn.k_proj", "self_attn.qkv_proj", "k",
     "attn_k"},
    {Role::kVProj, "v_proj", Kind::kLinear, true, "self_attn.v_proj", "self_attn.qkv_proj", "v",
     "attn_v"},
    {Role::kQNorm, "q_norm", Kind::kNorm, true, "self_attn.q_norm", "", "", "attn_q_norm"},
    {Role::kKNorm, "k_norm", Kind::kNorm, true, "self_attn.k_norm", "", "", "attn_k_norm"},
    {Role::kAttnSubNorm, "attn_sub_norm", Kind::kNorm, true, "self_attn.attn_sub_norm", "", "",
     "attn_sub_norm"},
    {Role::kOProj, "o_proj", Kind::kLinear, true, "self_attn.o_proj", "", "", "attn_output"},
    {Role::kPostNorm, "post_norm", Kind::kNorm, true, "post_attention_layernorm", "", "",
     "ffn_norm"},
    {Role::kGateProj, "gate_proj", Kind::kLinear, true, "mlp.gate_proj", "mlp.gate_up_proj", "0",
     "ffn_gate"},
    {Role::kUpProj, "up_proj", Kind::kLinear, true, "mlp.up_proj", "mlp.gate_up_proj", "1",
     "ffn_up"},
    {Role::kFfnSubNorm, "ffn_sub_norm", Kind::kNorm, true, "mlp.ffn_sub_norm", "", "",
     "ffn_sub_norm"},
    {Role::kDownProj, "down_proj", Kind::kLinear, true, "mlp.down_proj", "", "", "ffn_down"},
    {Role::kFinalNorm, "final_norm", Kind::kNorm, false, "model.norm", "", "", "output_norm"},
    {Role::kLmHead, "lm_head", Kind::kLinear, false, "lm_head", "", "", "output"},
}};

const RoleRow& row_of(Role role) {
  const auto index = static_cast<size_t>(role);
  TRILITH_CHECK(index < kRows.size() && kRows[index].role == role);
  return kRows[index];
}

constexpr std::string_view kLayerPrefix = "model.layers.";

}  // namespace

std::string_view role_name(Role role) { return row_of(role).name; }

std::optional<Role> role_from_name(std::string_view name) {
  for (const RoleRow& row : kRows) {
    if (row.name == name) return row.role;
  }
  return std::nullopt;
}

bool is_linear(Role role) { return row_of(role).kind == Kind::kLinear; }
bool is_norm(Role role) { return row_of(role).kind == Kind::kNorm; }
bool is_in_layer(Role role) { return row_of(role).in_layer; }

std::string module_name(const ModuleId& id) {
  const RoleRow& row = row_of(id.role);
  if (!row.in_layer) return std::string(row.transformers);
  return fmt::format("{}{}.{}", kLayerPrefix, id.layer, row.transformers);
}

std::optional<ModuleId> module_from_name(std::string_view name) {
  int64_t layer = -1;
  if (name.starts_with(kLayerPrefix)) {
    name.remove_prefix(kLayerPrefix.size());
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), layer);
    const auto digits = static_cast<size_t>(end - name.data());
    // "007" and "-1" are other names, not other spellings of a layer.
    if (problem != std::errc() || layer < 0 || layer >= kMaxLayers) return std::nullopt;
    if (name[0] == '0' && digits > 1) return std::nullopt;
    name.remove_prefix(digits);
    if (!name.starts_with('.')) return std::nullopt;
    name.remove_prefix(1);
  }
  for (const RoleRow& row : kRows) {
    if (row.transformers == name && row.in_layer == (layer >= 0)) return ModuleId{row.role, layer};
  }
  return std::nullopt;
}

std::vector<ModuleId> modules_of(const ModelSpec& spec) {
  std::vector<ModuleId> modules = {{Role::kEmbedding, -1}};
  for (int64_t layer = 0; layer < spec.num_hidden_layers; ++layer) {
    for (const RoleRow& row : kRows) {
      if (row.in_layer && has_role(spec, row.role)) modules.push_back({row.role, layer});
    }
  }
  modules.push_back({Role::kFinalNorm, -1});
  if (has_role(spec, Role::kLmHead)) modules.push_back({Role::kLmHead, -1});
  return modules;
}

MatrixShape module_shape(const ModelSpec& spec, Role role) {
  switch (role) {
    case Role::kEmbedding:
    case Role::kLmHead:
      return {spec.vocab_size, spec.hidden_size};
    case Role::kInputNorm:
    case Role::kPostNorm:
    case Role::kFinalNorm:
      return {spec.hidden_size, 1};
    case Role::kQProj:
      return {spec.q_size(), spec.hidden_size};
    case Role::kKProj:
    case Role::kVProj:
      return {spec.kv_size(), spec.hidden_size};
    case Role::kQNorm:
    case Role::kKNorm:
      return {spec.head_dim, 1};
    case Role::kAttnSubNorm:
      return {spec.q_size(), 1};
    case Role::kOProj:
      return {spec.hidden_size, spec.q_size()};
    case Role::kGateProj:
    case Role::kUpProj:
      return {spec.intermediate_size, spec.hidden_size};
    case Role::kFfnSubNorm:
      return {spec.intermediate_size, 1};
    case Role::kDownProj:
      return {spec.hidden_size, spec.intermediate_size};
  }
  TRILITH_CHECK(false);
}

bool has_role(const ModelSpec& spec, Role role) {
  switch (role) {
    case Role::kQNorm:
    case Role::kKNorm:
      return spec.qk_norm;
    case Role::kAttnSubNorm:
      return spec.attn_sub_norm;
    case Role::kFfnSubNorm:
      return spec.ffn_sub_norm;
    case Role::kLmHead:
      return !spec.tie_word_embeddings;
    default:
      return true;
  }
}

bool has_bias(const ModelSpec& spec, Role role) {
  switch (role) {
    case Role::kQProj:
    case Role::kKProj:
    case Role::kVProj:
      return spec.qkv_bias;
    case Role::kOProj:
      return spec.o_bias;
    case Role::kGateProj:
    case Role::kUpProj:
    case Role::kDownProj:
      return spec.mlp_bias;
    default:
      return false;
  }
}

Destination vllm_destination(const ModuleId& id) {
  const RoleRow& row = row_of(id.role);
  if (row.vllm_fused.empty()) return transformers_destination(id);
  return {fmt::format("{}{}.{}.weight", kLayerPrefix, id.layer, row.vllm_fused), "merge",
          std::string(row.shard)};
}

Destination transformers_destination(const ModuleId& id) {
  return {module_name(id) + ".weight", "copy", ""};
}

Destination gguf_destination(const ModuleId& id, std::string_view model_type) {
  const RoleRow& row = row_of(id.role);
  constexpr std::string_view kPermuted[] = {"", "llama", "mistral", "smollm3"};
  const bool permuted = (id.role == Role::kQProj || id.role == Role::kKProj) &&
                        std::ranges::find(kPermuted, model_type) != std::end(kPermuted);
  std::string name = row.in_layer ? fmt::format("blk.{}.{}.weight", id.layer, row.gguf)
                                  : fmt::format("{}.weight", row.gguf);
  return {std::move(name), permuted ? "permute" : "copy", ""};
}

}  // namespace trilith::model
