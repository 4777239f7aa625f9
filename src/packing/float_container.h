// Float containers: ordinary F16, BF16 or F32 matrices whose weights are −s, 0 and +s. The scales
// are not stored but follow from the values: s = max|w| over the elements of each scale (the mean
// of such data would be density · s).
#pragma once

#include <span>

#include "packing/codec.h"

namespace trilith::packing {

// Fills matrix.codes and matrix.scales; rows, cols, levels and scale are set, and scales has its
// size. Refuses values that are not exactly −s, 0 or s.
Status read_float_container(const PackingSpec& spec, const TensorView& values, QuantMatrix& matrix);
Status write_float_container(const PackingSpec& spec, const QuantMatrix& matrix,
                             std::span<std::byte> values);

}  // namespace trilith::packing
