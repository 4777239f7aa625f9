#include "inspect/name_roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace trilith::inspect {
namespace {

using model::Role;

struct Spelling {
  std::string_view component;  // a whole dotted component of the name, or several
  Role role;
};

// Hugging Face, Meta, GGUF, GPT-NeoX-like. Longer spellings come before the ones they contain.
constexpr std::array kSpellings = {
    Spelling{"self_attn.attn_sub_norm", Role::kAttnSubNorm},
    Spelling{"mlp.ffn_sub_norm", Role::kFfnSubNorm},
    Spelling{"attn_sub_norm", Role::kAttnSubNorm},
    Spelling{"ffn_sub_norm", Role::kFfnSubNorm},
    Spelling{"q_norm", Role::kQNorm},
    Spelling{"k_norm", Role::kKNorm},
    Spelling{"q_proj", Role::kQProj},
    Spelling{"k_proj", Role::kKProj},
    Spelling{"v_proj", Role::kVProj},
    Spelling{"o_proj", Role::kOProj},
    Spelling{"gate_proj", Role::kGateProj},
    Spelling{"up_proj", Role::kUpProj},
    Spelling{"down_proj", Role::kDownProj},
    Spelling{"attn_q_norm", Role::kQNorm},
    Spelling{"attn_k_norm", Role::kKNorm},
    Spelling{"attn_q", Role::kQProj},
    Spelling{"attn_k", Role::kKProj},
    Spelling{"attn_v", Role::kVProj},
    Spelling{"attn_output", Role::kOProj},
    Spelling{"ffn_gate", Role::kGateProj},
    Spelling{"ffn_up", Role::kUpProj},
    Spelling{"ffn_down", Role::kDownProj},
    Spelling{"wq", Role::kQProj},
    Spelling{"wk", Role::kKProj},
    Spelling{"wv", Role::kVProj},
    Spelling{"wo", Role::kOProj},
    Spelling{"w1", Role::kGateProj},
    Spelling{"w3", Role::kUpProj},
    Spelling{"w2", Role::kDownProj},
    Spelling{"input_layernorm", Role::kInputNorm},
    Spelling{"attn_norm", Role::kInputNorm},
    Spelling{"attention_norm", Role::kInputNorm},
    Spelling{"post_attention_layernorm", Role::kPostNorm},
    Spelling{"ffn_norm", Role::kPostNorm},
    Spelling{"embed_tokens", Role::kEmbedding},
    Spelling{"token_embd", Role::kEmbedding},
    Spelling{"tok_embeddings", Role::kEmbedding},
    Spelling{"lm_head", Role::kLmHead},
    Spelling{"output_norm", Role::kFinalNorm},
    Spelling{"model.norm", Role::kFinalNorm},
    Spelling{"final_norm", Role::kFinalNorm},
};

bool ends_with_component(std::string_view name, std::string_view component) {
  if (!name.ends_with(component)) return false;
  return name.size() == component.size() || name[name.size() - component.size() - 1] == '.';
}

// The first dotted component that is a number.
std::optional<int64_t> layer_number(std::string_view name) {
  while (!name.empty()) {
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, dot);
    const bool digits = !part.empty() && part.size() < 7 &&
                        part.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits) return std::stoll(std::string(part));
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return std::nullopt;
}

bool is_global(Role role) {
  return role == Role::kEmbedding || role == Role::kFinalNorm || role == Role::kLmHead;
}

}  // namespace

std::optional<model::ModuleId> id_from_name(std::string_view name) {
  for (const Spelling& spelling : kSpellings) {
    if (!ends_with_component(name, spelling.component)) continue;
    if (is_global(spelling.role)) return model::ModuleId{spelling.role, -1};
    const std::optional<int64_t> layer = layer_number(name);
    if (!layer) return std::nullopt;
    return model::ModuleId{spelling.role, *layer};
  }
  if (name == "norm") return model::ModuleId{Role::kFinalNorm, -1};
  if (name == "output") return model::ModuleId{Role::kLmHead, -1};
  return std::nullopt;
}

}  // namespace trilith::inspect
