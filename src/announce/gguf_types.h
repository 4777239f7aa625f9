// What a tensor type of GGUF means, as a PackingSpec. Ids are not unique between forks of ggml, so
// types are told by name, project and size (checkpoint/ggml_types.h). Sources of the layouts:
// ggml-quants.c and ggml-common.h of ggml-org/ggml, ikawrakow's and PrismML's forks,
// microsoft/BitNet.
#pragma once

#include <optional>

#include "checkpoint/ggml_types.h"
#include "packing/spec.h"

namespace trilith::announce {

// Nothing when the type cannot be expressed (grids, repacked rows, kernel tiles).
std::optional<packing::PackingSpec> spec_of_type(const checkpoint::GgmlType& type);

}  // namespace trilith::announce
