// Numbers in and out of stored elements, exactly: a value that a type cannot hold is an error, not
// a rounding.
#pragma once

#include <cstddef>

#include "base/dtype.h"
#include "base/result.h"

namespace trilith::packing {

// The value rounded to the type (F16, BF16, F32; other types: unchanged).
float round_to(DType dtype, float value);

// Writes `value` as one little-endian element. An error when the type does not hold it exactly.
Status store_number(DType dtype, double value, std::byte* target);

// 2^x from basic operations alone, so that it is the same everywhere; exact for whole x.
double exp2_portable(double x);

}  // namespace trilith::packing
