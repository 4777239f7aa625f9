// Which module of the architecture each stored module is: by its name, or, when names say nothing,
// by shapes and the order of the names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/arrangement.h"
#include "inspect/code_finder.h"
#include "inspect/role_order.h"

namespace trilith::inspect {

// The stored modules that hold no codes: name -> the tensor that is their weight.
struct PlainModule {
  std::string name;
  const Part* weight = nullptr;
};

struct Identities {
  IdsByName ids;      // of packed and plain modules, by stored module name
  std::string order;  // what the names or their order are; empty when nothing was found
  bool by_name = false;
};

// From names alone; empty ids when none says anything.
Identities identify_by_name(const std::vector<CodeGroup>& groups,
                            const std::vector<PlainModule>& plain);
// From shapes and order, most usual first. `packed`: the modules with the shapes found.
std::vector<Identities> identify_by_order(const std::vector<PackedModule>& packed,
                                          const std::vector<PlainModule>& plain,
                                          const ConfigSizes& sizes);

}  // namespace trilith::inspect
