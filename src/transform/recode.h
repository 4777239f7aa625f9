// recode: the codes and scales of one matrix in terms of another PackingSpec, with every weight
// unchanged, or what would be lost. Nothing is ever rounded into place: a scale that the target's
// type does not hold, a level that its table lacks or scales that it has one of where the source
// has several are counted as losses.
//
// "Unchanged" is: level times scale, with zero points, rounded once to float32, bit for bit (0 and
// −0 are one). The codes themselves may differ, and so may the point at which 0 lies: a table that
// counts 0 … 15 takes −8 … 7 with a zero point of 8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "packing/quant_matrix.h"
#include "packing/spec.h"

namespace trilith::transform {

struct Loss {
  std::string what;   // "scales that F16 does not hold"
  int64_t count = 0;  // of them; 0 where counting makes no sense (a shape)
  std::string first;  // the first of them, with its place
};

struct Recoded {
  packing::QuantMatrix matrix;  // to be encoded, when nothing is lost
  std::vector<Loss> losses;
};

Recoded recode(const packing::QuantMatrix& source, const packing::PackingSpec& target);

}  // namespace trilith::transform
