// The space of side data: which tensors beside the codes are scales, zero points, a level table or
// a column index, and which weight takes which of their entries. Every scale index, group size and
// layout of PackingSpec whose storage has the shape of a tensor at hand, in all modules alike.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/config_sizes.h"
#include "inspect/hypothesis.h"
#include "inspect/law_space.h"
#include "inspect/stored_class.h"

namespace trilith::inspect {

struct SideReading {
  packing::PackingSpec spec;          // the law with scale, zero and, from a tensor, the table
  std::vector<PackedModule> modules;  // with codes and side tensors
  double nats = 0;                    // tensors left unexplained, conventions
  std::string rule;                   // how the scale was found
  bool assumed = false;               // several tensors would have fitted
};

// `placed`: the modules of `stored` with their codes and shapes. Matrices that were joined along N
// have the lengths that `sizes` give q, k and v.
std::vector<SideReading> side_readings(const StoredClass& stored, const CandidateLaw& law,
                                       const std::vector<PackedModule>& placed,
                                       const ConfigSizes& sizes);

}  // namespace trilith::inspect
