// In which ways a table of codes takes the levels that occur under one scale: as they are, with
// another zero point, turned round (with a negative scale), or multiplied where their own scale
// makes up for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "packing/quant_matrix.h"

namespace trilith::transform {

// A bias of at most so many steps counts as a zero point.
constexpr double kLargestZero = 255;

// The target's levels with the code of each, the lowest code of equal ones.
class Alphabet {
 public:
  explicit Alphabet(const packing::QuantMatrix& matrix);

  std::optional<uint8_t> code_of(double level) const;
  const std::map<double, uint8_t>& codes() const { return codes_; }
  bool empty() const { return codes_.empty(); }
  double lowest() const { return codes_.begin()->first; }
  double highest() const { return codes_.rbegin()->first; }

 private:
  std::map<double, uint8_t> codes_;
};

// level · multiplier + zero is a level of the target.
struct Choice {
  double multiplier = 1;
  double zero = 0;
};

bool has_zero_points(packing::Zero::Kind kind);  // one a scale, stored
bool is_affine(packing::Zero::Kind kind);        // an offset of the weight, not of the code

// Zero points in the order in which they are tried: the source's own (where it is given), the
// middle of the table (what symmetric quantisers write), powers of two (whose product with a scale
// is exact), the rest.
std::vector<double> zero_candidates(const packing::Zero& zero, const Alphabet& alphabet,
                                    std::optional<double> own);

// The ways in which the table takes `levels` (ordered, not empty). Levels are multiplied, by what
// brings the largest to one of the table's, only when it does not take them (or their negatives) as
// they are.
std::vector<Choice> choices_for(const Alphabet& alphabet, const std::vector<double>& levels,
                                const std::vector<double>& zeros);

}  // namespace trilith::transform
