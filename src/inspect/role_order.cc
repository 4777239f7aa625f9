#include "inspect/role_order.h"

#include <algorithm>

namespace trilith::inspect {
namespace {

using model::ModuleId;
using model::Role;

struct LayerOrder {
  std::string_view name;
  std::vector<Role> roles;
};

std::vector<LayerOrder> layer_orders() {
  const std::vector<Role> execution = {Role::kInputNorm, Role::kQProj,  Role::kKProj,
                                       Role::kVProj,     Role::kOProj,  Role::kPostNorm,
                                       Role::kGateProj,  Role::kUpProj, Role::kDownProj};
  const std::vector<Role> linears_first = {Role::kQProj,    Role::kKProj,     Role::kVProj,
                                           Role::kOProj,    Role::kGateProj,  Role::kUpProj,
                                           Role::kDownProj, Role::kInputNorm, Role::kPostNorm};
  const std::vector<Role> alphabetical = {Role::kInputNorm, Role::kDownProj, Role::kGateProj,
                                          Role::kUpProj,    Role::kPostNorm, Role::kKProj,
                                          Role::kOProj,     Role::kQProj,    Role::kVProj};
  return {{"execution order", execution},
          {"linears before norms", linears_first},
          {"alphabetical order", alphabetical}};
}

// Places of the parts outside the layers: before them and after them.
struct Frame {
  std::string_view name;
  std::vector<Role> before;
  std::vector<Role> after;
};

std::vector<Frame> frames(bool tied) {
  if (tied) {
    return {{"embedding first", {Role::kEmbedding}, {Role::kFinalNorm}},
            {"embedding and norm first", {Role::kEmbedding, Role::kFinalNorm}, {}},
            {"embedding and norm last", {}, {Role::kEmbedding, Role::kFinalNorm}}};
  }
  return {
      {"embedding first", {Role::kEmbedding}, {Role::kFinalNorm, Role::kLmHead}},
      {"head first", {Role::kLmHead, Role::kEmbedding}, {Role::kFinalNorm}},
      {"embedding first, head before norm", {Role::kEmbedding}, {Role::kLmHead, Role::kFinalNorm}}};
}

std::vector<ModuleId> sequence(const Frame& frame, const LayerOrder& order, int64_t layers) {
  std::vector<ModuleId> ids;
  for (const Role role : frame.before) ids.push_back({role, -1});
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (const Role role : order.roles) ids.push_back({role, layer});
  }
  for (const Role role : frame.after) ids.push_back({role, -1});
  return ids;
}

bool allows(const OrderItem& item, Role role) {
  return std::find(item.allowed.begin(), item.allowed.end(), role) != item.allowed.end();
}

}  // namespace

std::vector<RoleAssignment> assign_by_order(const std::vector<OrderItem>& items,
                                            const ConfigSizes& sizes) {
  std::vector<RoleAssignment> assignments;
  if (sizes.layers == 0 || sizes.layers > static_cast<int64_t>(items.size())) return assignments;
  // A config that says nothing of tying leaves both possible; the number of modules decides.
  for (const bool tied : {false, true}) {
    for (const LayerOrder& order : layer_orders()) {
      for (const Frame& frame : frames(tied)) {
        std::vector<ModuleId> ids = sequence(frame, order, sizes.layers);
        if (ids.size() != items.size()) continue;
        bool fits = true;
        for (size_t i = 0; i < items.size() && fits; ++i) fits = allows(items[i], ids[i].role);
        if (!fits) continue;
        assignments.push_back(
            {std::string(order.name) + ", " + std::string(frame.name), std::move(ids)});
      }
    }
  }
  return assignments;
}

}  // namespace trilith::inspect
