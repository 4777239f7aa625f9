// Slots beyond the logical width. Packers fill them with one code, so a reading under which they
// all hold the same is likelier than one under which they happen to.
#pragma once

#include "inspect/geometry.h"
#include "inspect/hypothesis.h"

namespace trilith::inspect {

// Slots beyond the logical width whose codes are not all the same: weights that a reading crops.
int64_t cropped_weights(const packing::PackingSpec& spec, const PackedModule& module);

// 0 where the geometry leaves no slot over or the slots differ.
double padding_nats(const Geometry& geometry, const PackedModule& module);

}  // namespace trilith::inspect
