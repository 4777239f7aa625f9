// The part of a random spec that says where codes lie: slots, sections, bit streams, and the fields
// between them. Call inside a RapidCheck property.
#pragma once

#include <vector>

#include "packing/spec.h"

namespace trilith::packing::testing {

std::vector<int> random_permutation(int size);
// Symbol, bits, planes and orientation are given.
void random_law(PackingSpec& spec);
// Scales, minima and padding among the codes, where the law and the container allow them.
void random_fields(PackingSpec& spec);

}  // namespace trilith::packing::testing
