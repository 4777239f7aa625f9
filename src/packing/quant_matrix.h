// QuantMatrix: a decoded low-bit matrix, still exact: the code of every weight, the level of every
// code, and the scales and zero points as stored. Everything downstream (reference, kernels,
// conversion, reports) starts from it. Owns its data; a plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "packing/spec.h"

namespace trilith::packing {

struct QuantMatrix {
  int64_t rows = 0;            // N, output features
  int64_t cols = 0;            // K, input features
  int bits = 2;                // codes are below 2^bits (below 3 for trits, bits = 0)
  std::vector<uint8_t> codes;  // [N, K] row-major
  std::vector<std::optional<double>> levels;  // of each code; nullopt = unused

  // Scales: which one an element has follows `scale.index`; values in the order of that index
  // (row-group: [N, groups], always row-major here). Widened to F32 from scale.dtype, exactly.
  Scale scale;
  std::vector<float> scales;
  std::vector<float> column_scales;  // [K], for Index::kRankOne
  // Zero points in the same order as the scales, for zero.kind ≠ none and constant; z itself even
  // when the file stores z − 1.
  Zero zero;
  std::vector<float> zeros;
  std::vector<int32_t> group_index;  // [K] group of each column, when the file names it; else empty
  float global_scale = 1;            // as stored, for scale.global

  // Position in `scales` of element (n, k).
  int64_t scale_index(int64_t n, int64_t k) const;
  double scale_at(int64_t n, int64_t k) const;  // factor and op applied: w = level · scale_at
  double value(int64_t n, int64_t k) const;     // exact up to one rounding to double
  std::vector<float> dense() const;             // [N, K], value() rounded to float
  // Levels as int8 [N, K]; nullopt when a level is no integer of that range or a code is unused.
  std::optional<std::vector<int8_t>> integer_levels() const;
  // Codes that occur but have no level: how many, and the first of them (flat index).
  struct Unused {
    int64_t count = 0;
    int64_t first = -1;
  };
  Unused unused_codes() const;
};

}  // namespace trilith::packing
