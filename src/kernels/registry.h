// Which kernel set runs here. A set is the scalar one with overrides; the strongest the processor
// has is taken unless a name forces one. Before a set is handed out it computes one block of every
// kernel and must give the bits of the scalar set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_features.h"
#include "base/result.h"
#include "kernels/kernel_set.h"

namespace trilith::kernels {

// Names of the sets of this build that `cpu` can run, weakest first.
std::vector<std::string> available_sets(const CpuFeatures& cpu = cpu_features());

// The set named, or for an empty name the one that TRILITH_ISA names, or the strongest. An unknown
// name and a set the processor lacks are usage errors. The set lives as long as the program.
Result<const KernelSet*> choose_kernels(std::string_view name = {},
                                        const CpuFeatures& cpu = cpu_features());

// Holds every kernel of `set` against the scalar set on small inputs; names the first that differs.
Status check_against_scalar(const KernelSet& set);

}  // namespace trilith::kernels
