// Figures of a decoded matrix that a wrong reading would change: how codes spread, whether they are
// centred on their zero points, how large the weights are, and whether stored bytes look random.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "packing/quant_matrix.h"

namespace trilith::announce {

struct CodeFigures {
  std::vector<uint64_t> counts;  // of each code, over all weights
  uint64_t sampled = 0;          // weights that the means are over: whole rows, evenly spread
  double mean_step = 0;          // of weight / |scale|: 0 when zero points are right
  double rms_step = 0;
  double rms_weight = 0;
  double zero_share = 0;  // of weights that are exactly level 0 less the zero point
};
CodeFigures code_figures(const packing::QuantMatrix& matrix);

struct ScaleFigures {
  double min = 0, median = 0, max = 0;
  int64_t count = 0, negative = 0, zero = 0;
};
ScaleFigures scale_figures(std::span<const float> scales);

// Pearson's statistic of counts against an even spread, and its degrees of freedom.
struct EvenSpread {
  double chi_square = 0;
  double freedom = 0;
  // Within five standard deviations of what truly even codes give.
  bool is_even() const;
};
EvenSpread even_spread(std::span<const uint64_t> counts);

// Pages of stored bytes whose nibbles are spread evenly while those of the whole tensor are not:
// random bytes in place of codes. Nothing is said when the tensor as a whole is nearly even.
struct RandomPages {
  int64_t pages = 0;  // examined; 0: the tensor does not allow the test
  int64_t random = 0;
  int64_t first = -1;  // byte offset of the first of them
};
RandomPages random_pages(std::span<const std::byte> bytes);

}  // namespace trilith::announce
