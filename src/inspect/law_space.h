// The space of code laws that the general search goes through: every combination of the axes of
// PackingSpec that says where codes lie (bits, slots, stride, order, axis, orientation, digits,
// bitstreams, planes, blocks with their scale inside). Not a list of named formats. What sizes
// allow is decided later; the prior of a convention only orders readings that nothing else tells
// apart.
#pragma once

#include <vector>

#include "base/dtype.h"
#include "packing/spec.h"

namespace trilith::inspect {

struct CandidateLaw {
  packing::PackingSpec spec;  // every code as its own number; a scale only where it lies inside
  double prior = 0;           // nats, ≤ 0
};

// The prior of an order of slots, for laws that are found elsewhere.
double order_convention(const packing::PackingSpec& spec);

// Codes in one tensor of this dtype.
std::vector<CandidateLaw> word_laws(DType dtype);
// Blocks along a row with their scale before or behind the codes, in bytes.
std::vector<CandidateLaw> block_laws(DType dtype);
// Blocks with more inside than codes and one scale: a minimum, two levels of scales, planes of
// bits. Their axes have too many combinations to go through, so these are the named ones.
std::vector<CandidateLaw> named_block_laws(DType dtype);
// Codes whose bits lie in several tensors, `widths` lowest bits first.
std::vector<CandidateLaw> plane_laws(DType dtype, const std::vector<int>& widths);
// One tensor with a leading dimension of `planes` bit planes.
std::vector<CandidateLaw> stacked_laws(DType dtype, int planes);

}  // namespace trilith::inspect
