// Which stored tensors hold codes, which may hold their scales, and which are neither: masks,
// position ids, norms and biases are never taken for codes. Views must outlive the result.
#pragma once

#include <string>
#include <vector>

#include "inspect/grouping.h"

namespace trilith::inspect {

// The tensors that a packed module is made of, before anything is known about their layout.
struct CodeGroup {
  std::string name;
  std::vector<const Part*> codes;   // one tensor, or planes of equal dtype and shape
  std::vector<const Part*> floats;  // scale and bias candidates
  std::string problem;              // why the group cannot be read, or empty
};

struct FoundCodes {
  std::vector<CodeGroup> groups;
  std::vector<const Part*> plain;  // everything else
  bool scales_by_size = false;     // lone tensors: scales were matched by size
};

// `modules` must outlive the result. Lone tensors (no common prefixes anywhere) get their scales by
// size and name order among the lone float vectors.
FoundCodes find_codes(const std::vector<StoredModule>& modules);

}  // namespace trilith::inspect
