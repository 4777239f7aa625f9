// The forward pass as data: one Step a trace point, in execution order, naming the points it reads.
// Reference::run walks the list; reconciliation evaluates single steps on whatever inputs it likes
// (the reference's own, or those another program recorded).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_spec.h"
#include "model/roles.h"

namespace trilith::reference {

enum class Operation {
  kEmbed,            // reads ids
  kNorm,             // x
  kLinear,           // x
  kHeadNorm,         // x, each head for itself
  kRope,             // x, with the heads of module's role (q_proj or k_proj)
  kAttention,        // q, k, v
  kGatedActivation,  // gate, up
  kAdd,              // residual, update
};

struct Step {
  Operation operation = Operation::kEmbed;
  std::string point;                // "layers.3.q_proj": what it produces
  std::vector<std::string> inputs;  // points it reads, in the order above
  model::ModuleId module;           // whose weights it uses (embed, norm, linear) or heads (rope)
};

std::vector<Step> forward_steps(const model::ModelSpec& spec);

// Whether row t of the output depends on row t of the inputs alone (all but attention).
bool is_row_local(Operation operation);

}  // namespace trilith::reference
