// What a module is, read from its name: the spellings of q_proj, down_proj and so on that
// repositories use, and the layer from the number in the name. Neutral names give nothing.
#pragma once

#include <optional>
#include <string_view>

#include "model/roles.h"

namespace trilith::inspect {

std::optional<model::ModuleId> id_from_name(std::string_view name);

}  // namespace trilith::inspect
