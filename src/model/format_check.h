// What a decoded matrix must look like before anything is computed with it: the last of the checks
// that hold an announced format against the bytes. Sizes, alphabet, unused codes and finite scales
// are checked by the codec; this looks at the values.
#pragma once

#include <span>

#include "base/result.h"

namespace trilith::model {

// `values`: the matrix as float32. Refuses non-finite values, values beyond float16 (no trained
// weight is larger: masters are float16 or bfloat16 of its range), matrices smaller than the least
// float16, and matrices of one value (what a hole in a file decodes to).
Status check_values(std::span<const float> values, int64_t cols);

}  // namespace trilith::model
