// Placement: under a code law, which matrix each module of a class holds. The sizes of the config
// allow a handful of shapes (fused projections included), a shape tensor or the text of a
// quantiser's state may name one; the law must store exactly the tensors that are there.
#pragma once

#include <string>
#include <vector>

#include "inspect/config_sizes.h"
#include "inspect/hypothesis.h"
#include "inspect/law_space.h"
#include "inspect/stored_class.h"

namespace trilith::inspect {

// The modules of `stored` with role "codes" (and "codes_1" …) from these suffixes; several results
// where a flat buffer may hold more than one shape. Empty when a module does not fit.
std::vector<std::vector<PackedModule>> place_modules(const StoredClass& stored,
                                                     const std::vector<std::string>& code_parts,
                                                     const CandidateLaw& law,
                                                     const std::vector<LogicalShape>& legal);

// How many of these matrices are more than the layers of the config have places for; 0 where the
// config states no layers, or has experts.
size_t surplus_modules(const std::vector<PackedModule>& placed,
                       const std::vector<LogicalShape>& legal, const ConfigSizes& sizes);

// linear_shapes and those of fused projections.
std::vector<LogicalShape> all_shapes(const ConfigSizes& sizes);

}  // namespace trilith::inspect
