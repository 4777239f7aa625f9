// The names of a decoder's parts: linears and norms as roles, their Hugging Face names, and what
// becomes of each in vLLM, transformers and GGUF (the name map of a format sheet).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_spec.h"

namespace trilith::model {

enum class Role {
  kEmbedding,
  kInputNorm,
  kQProj,
  kKProj,
  kVProj,
  kQNorm,
  kKNorm,
  kAttnSubNorm,
  kOProj,
  kPostNorm,
  kGateProj,
  kUpProj,
  kFfnSubNorm,
  kDownProj,
  kFinalNorm,
  kLmHead,
};

// "q_proj", "input_norm", … as trace points and sheets spell them.
std::string_view role_name(Role role);
std::optional<Role> role_from_name(std::string_view name);
bool is_linear(Role role);    // q k v o gate up down lm_head
bool is_norm(Role role);      // a gain vector
bool is_in_layer(Role role);  // all but embedding, final norm and head

// One module of a model: a role in a layer (layer −1 for embedding, final norm and head).
struct ModuleId {
  Role role = Role::kEmbedding;
  int64_t layer = -1;
  bool operator==(const ModuleId&) const = default;
};

// "model.layers.3.self_attn.q_proj", without ".weight".
std::string module_name(const ModuleId& id);
// The inverse of module_name, and nothing else: no other spelling, no suffix.
std::optional<ModuleId> module_from_name(std::string_view name);
// Every module of the architecture in execution order (lm_head left out when tied).
std::vector<ModuleId> modules_of(const ModelSpec& spec);
struct MatrixShape {
  int64_t rows;
  int64_t cols;
};
// [N, K] of a linear or the embedding; [n, 1] of a norm's gain.
MatrixShape module_shape(const ModelSpec& spec, Role role);
// Whether the architecture has the module at all.
bool has_role(const ModelSpec& spec, Role role);
bool has_bias(const ModelSpec& spec, Role role);

// Where a module's weight goes in another program.
struct Destination {
  std::string name;   // parameter name there
  std::string op;     // "copy", "merge", "split", "transpose", "permute" (rows, for RoPE)
  std::string shard;  // "q", "k", "v", "0", "1", or empty
};
Destination vllm_destination(const ModuleId& id);
Destination transformers_destination(const ModuleId& id);
// llama.cpp's converter reorders the rows of q and k (pairs 2i, 2i+1 in place of i, i + d/2) for
// Llama, Mistral and SmolLM3, not for BitNet and Qwen. An empty model_type counts as Llama's.
Destination gguf_destination(const ModuleId& id, std::string_view model_type = {});

}  // namespace trilith::model
