// What the names of two bit planes say of their parts: "weight_pos" and "weight_neg", "sign" and
// "mask". Bits alone cannot tell which of two planes holds the positive weights.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "inspect/family_search.h"

namespace trilith::inspect {

// Roles in the order of the names; nothing unless the names tell one plane from the other.
std::optional<std::vector<packing::PlaneRole>> plane_roles_by_name(std::string_view first,
                                                                   std::string_view second);

// Adds to the readings of a family of two planes whose roles are those of the names.
void weigh_plane_names(FamilySearch& family);

}  // namespace trilith::inspect
