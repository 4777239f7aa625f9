// Two-level scales of ggml's K-quants: a block of 256 has an F16 scale d (and dmin) and, for each
// sub-block, small integers that multiply them. How those integers lie in their bytes differs:
//     q2_k   a byte each: low nibble the scale, high nibble the minimum
//     q3_k   12 bytes: 16 scales of 6 bits less 32, low nibbles first, then pairs of high bits
//     q4_k   12 bytes: 8 scales and 8 minima of 6 bits
//     q6_k   int8 each
//     iq4_xs u16 of pairs of high bits, then 4 bytes of low nibbles: 8 scales of 6 bits less 32
// The products d · scale have at most 19 significant bits, so float32 holds them exactly.
// Source: ggml, src/ggml-quants.c (dequantize_row_q*_K, get_scale_min_k4).
#pragma once

#include <vector>

#include "packing/codec.h"
#include "packing/layout.h"

namespace trilith::packing {

// Bytes and integers of a block's sub-scales.
struct SubLayoutShape {
  int64_t bytes = 0;
  int64_t count = 0;
  bool has_minima = false;
};
SubLayoutShape shape_of(Scale::SubLayout layout);

struct SubScales {
  std::vector<float> scales;  // of every sub-block, in order
  std::vector<float> minima;  // empty when the layout has none
};
// Every unit of `codes`, whose size is checked. Non-finite products are left to the caller.
Result<SubScales> read_sub_scales(const PackingSpec& spec, const Layout& layout,
                                  const TensorView& codes);

}  // namespace trilith::packing
