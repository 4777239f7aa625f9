// What a decoded matrix must look like before anything is computed with it: the last of the checks
// that hold a format against the bytes. Sizes, alphabet, codes without a level and finite scales
// are checked by the codec; this looks at what they add up to.
#pragma once

#include <string>

#include "base/result.h"
#include "packing/quant_matrix.h"

namespace trilith::model {

// Refuses matrices in which only one code occurs (what a hole in a file decodes to), weights beyond
// float16 (no trained weight is larger: masters are float16, or bfloat16 of that range), and
// matrices whose weights all lie below the least float16. Errors name `codes` or `scale`, the
// tensors these came from. About 0.5 ns a weight unless there are zero points.
Status check_matrix(const packing::QuantMatrix& matrix, const std::string& codes,
                    const std::string& scale);

}  // namespace trilith::model
