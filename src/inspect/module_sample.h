// Which modules of a large family are weighed. Tests hold modules of one layer against each other,
// so whole layers are taken; where layers are not known, modules of every size in turn.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/hypothesis.h"

namespace trilith::inspect {

// Indices in ascending order: all while they hold at most `most` weights together, else as many
// whole layers, the first and the last ones before those between, as reach that; at least one layer
// and one module of every shape.
std::vector<size_t> sample_modules(const std::vector<PackedModule>& modules, int64_t most);

}  // namespace trilith::inspect
