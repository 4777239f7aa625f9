// EngineFault: a mistake the engine makes on request, with the weights untouched. It exists so that
// tests can prove that `verify` finds a wrong implementation and names the place; nothing but a
// test sets it, and no option of the program reaches it.
#pragma once

#include <cstdint>

#include "model/roles.h"

namespace trilith::engine {

struct EngineFault {
  enum class Kind {
    kNone,
    kSkipRows,         // rows [first_row, first_row + row_count) of a linear stay 0
    kRopeTheta,        // theta · factor in one layer
    kActivationScale,  // the step of a quantised linear's input · factor
  };
  Kind kind = Kind::kNone;
  int64_t layer = 0;
  model::Role role = model::Role::kKProj;  // of the linear; not for kRopeTheta
  int64_t first_row = 0;
  int64_t row_count = 0;
  double factor = 1.0;

  bool hits(Kind wanted, const model::ModuleId& module) const {
    return kind == wanted && layer == module.layer && role == module.role;
  }
};

}  // namespace trilith::engine
