// Arrangements: for a family of modules taken to be packed alike, each geometry that gives every
// module a legal shape and a scale of matching size. Decided by sizes alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/code_finder.h"
#include "inspect/config_sizes.h"
#include "inspect/geometry.h"
#include "inspect/hypothesis.h"

namespace trilith::inspect {

struct Arrangement {
  Geometry geometry;
  std::optional<packing::Scale> scale;  // index, dtype and place; the op is still open
  std::vector<PackedModule> modules;
  // How each module found its scale: "common prefix", "next tensor in name order", "only vector of
  // that size", "name order among vectors of that size".
  std::string scale_rule;
  bool scale_assumed = false;
};

struct ArrangementSearch {
  std::vector<Arrangement> found;
  // When nothing was found: the module and the reason that came nearest.
  std::string module;
  std::string reason;
};

using IdsByName = std::map<std::string, model::ModuleId>;

// `groups`: one family. `ids`: what is known of the modules' roles; a module's shape must be its
// role's. `lone`: scales are matched by size and order, not by prefix.
ArrangementSearch arrange(const std::vector<const CodeGroup*>& groups, const ConfigSizes& sizes,
                          const IdsByName& ids, bool lone);

}  // namespace trilith::inspect
