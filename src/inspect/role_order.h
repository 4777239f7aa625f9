// What modules with neutral names are, from their shapes and the order of the names: the sequence
// is cut into layers and laid on the orders in which programs write a decoder (execution order,
// alphabetical, linears before norms). Several orders may fit; the probe text chooses.
#pragma once

#include <string>
#include <vector>

#include "inspect/config_sizes.h"
#include "model/roles.h"

namespace trilith::inspect {

// One module in name order: the roles its shape allows.
struct OrderItem {
  std::string name;
  std::vector<model::Role> allowed;
};

struct RoleAssignment {
  std::string order;                 // "execution order, embedding first"
  std::vector<model::ModuleId> ids;  // parallel to the items
};

// The assignments that give every item an allowed role and leave no role out, most usual first.
std::vector<RoleAssignment> assign_by_order(const std::vector<OrderItem>& items,
                                            const ConfigSizes& sizes);

}  // namespace trilith::inspect
