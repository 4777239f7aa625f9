// Numbers in and out of stored elements, exactly: a value that a type cannot hold is an error, not
// a rounding.
#pragma once

#include <cstddef>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::packing {

// The tensor's elements. An error when float32 does not hold one exactly (large integers, F64).
Result<std::vector<float>> exact_floats(const TensorView& tensor);

// Writes `value` as one little-endian element. An error when the type does not hold it exactly.
Status store_number(DType dtype, double value, std::byte* target);

// 2^x from basic operations alone, so that it is the same everywhere; exact for whole x.
double exp2_portable(double x);

}  // namespace trilith::packing
