// Which weights share a scale, and what their zero is. A scale is made from its own group: its
// largest weight reaches the largest code (absmax), its smallest and largest reach the ends of the
// range (affine), or its mean magnitude is a constant (absmean). Under a wrong partition groups
// reach the ends as often as chance makes them, and their means vary as chance makes them.
#pragma once

#include "packing/quant_matrix.h"

namespace trilith::inspect {

struct GroupEvidence {
  double partition = 0;  // nats for this partition against a random one
  double centre = 0;     // nats ≤ 0 against groups of mean zero
};

GroupEvidence weigh_groups(const packing::QuantMatrix& matrix);

}  // namespace trilith::inspect
