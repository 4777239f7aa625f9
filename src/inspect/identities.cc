#include "inspect/identities.h"

#include <algorithm>

#include "inspect/name_roles.h"

namespace trilith::inspect {
namespace {

using model::Role;

void add_roles_of_shape(OrderItem& item, int64_t rows, int64_t cols, const ConfigSizes& sizes) {
  for (const LogicalShape& shape : linear_shapes(sizes)) {
    if (shape.rows != rows || shape.cols != cols) continue;
    item.allowed.insert(item.allowed.end(), shape.roles.begin(), shape.roles.end());
  }
}

OrderItem item_of(const PlainModule& plain, const ConfigSizes& sizes) {
  OrderItem item{plain.name, {}};
  const TensorView& tensor = *plain.weight->tensor;
  if (!is_float(tensor.dtype)) return item;
  if (tensor.shape.size() == 1 && tensor.shape[0] == sizes.hidden) {
    item.allowed = {Role::kInputNorm, Role::kPostNorm, Role::kFinalNorm};
  } else if (tensor.shape.size() == 2) {
    if (tensor.shape[0] == sizes.vocab && tensor.shape[1] == sizes.hidden) {
      item.allowed = {Role::kEmbedding, Role::kLmHead};
    }
    add_roles_of_shape(item, tensor.shape[0], tensor.shape[1], sizes);
  }
  return item;
}

}  // namespace

Identities identify_by_name(const std::vector<CodeGroup>& groups,
                            const std::vector<PlainModule>& plain) {
  Identities identities;
  for (const CodeGroup& group : groups) {
    if (const auto id = id_from_name(group.name)) identities.ids[group.name] = *id;
  }
  for (const PlainModule& module : plain) {
    if (const auto id = id_from_name(module.name)) identities.ids[module.name] = *id;
  }
  if (!identities.ids.empty()) {
    identities.by_name = true;
    identities.order = "names";
  }
  return identities;
}

std::vector<Identities> identify_by_order(const std::vector<PackedModule>& packed,
                                          const std::vector<PlainModule>& plain,
                                          const ConfigSizes& sizes) {
  std::vector<OrderItem> items;
  for (const PackedModule& module : packed) {
    OrderItem item{module.name, {}};
    add_roles_of_shape(item, module.rows, module.cols, sizes);
    items.push_back(std::move(item));
  }
  for (const PlainModule& module : plain) {
    OrderItem item = item_of(module, sizes);
    if (!item.allowed.empty()) items.push_back(std::move(item));
  }
  std::sort(items.begin(), items.end(),
            [](const OrderItem& a, const OrderItem& b) { return natural_less(a.name, b.name); });
  std::vector<Identities> found;
  for (const RoleAssignment& assignment : assign_by_order(items, sizes)) {
    Identities identities;
    identities.order = assignment.order;
    for (size_t i = 0; i < items.size(); ++i) identities.ids[items[i].name] = assignment.ids[i];
    found.push_back(std::move(identities));
  }
  return found;
}

}  // namespace trilith::inspect
