// Axis and stride class. Rows and columns of a trained matrix differ in how often a code
// occurs; read in the wrong arrangement they mix, and the counts fall back to what chance gives.
// Orders inside a row, or of whole rows, leave this statistic as it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trilith::inspect {

struct Dispersion {
  double row_ratio = 1;  // variance of the row counts over the binomial one
  double col_ratio = 1;
  double nats = 0;
};

// Variance of counts out of `trials` each over the binomial one. Lines without a single mark, or of
// marks alone, are left out: that is padding read as weights.
double variance_ratio(std::vector<uint64_t> counts, double trials);

// `marked`: [rows, cols], 1 where a certain code (or any of certain codes) lies. Counts of rows are
// taken over `run` elements (a scale group, which divides cols): scales and zero points of their
// own set groups apart in every shape that they are read in. 0: over whole rows.
Dispersion measure_dispersion(std::span<const uint8_t> marked, int64_t rows, int64_t cols,
                              int64_t run = 0);

}  // namespace trilith::inspect
