// Slots beyond the logical width. Packers fill them with one code, so a reading under which they
// all hold the same is likelier than one under which they happen to.
#pragma once

#include "inspect/geometry.h"
#include "inspect/hypothesis.h"

namespace trilith::inspect {

// 0 where the geometry leaves no slot over or the slots differ.
double padding_nats(const Geometry& geometry, const PackedModule& module);

}  // namespace trilith::inspect
