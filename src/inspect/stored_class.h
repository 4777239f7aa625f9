// Modules that are stored alike: the same parts under the same suffixes with the same dtypes. The
// general search (general_search.h) reads a class as a whole, since one format wrote all of it.
// Where names do not group tensors every integer tensor is a module of its own and all tensors are
// shared as side data. Views must outlive the result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/grouping.h"

namespace trilith::inspect {

struct ClassModule {
  std::string name;
  std::map<std::string, const TensorView*> parts;  // by suffix
  std::vector<std::string> code_parts;             // suffixes of those that may hold codes
};

struct StoredClass {
  std::vector<ClassModule> modules;
  std::vector<const TensorView*> loose;  // of lone tensors: all of them
  bool lone = false;
};

// Whether a tensor can hold codes at all: integers or 8-bit floats, not counting, not constant.
bool may_be_codes(const Part& part);
std::vector<StoredClass> classify(const std::vector<StoredModule>& modules);

}  // namespace trilith::inspect
