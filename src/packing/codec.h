// decode and encode: between stored tensors and QuantMatrix, for any PackingSpec this build can
// express; others are refused by name (Error::unsupported).
//
// Tensors are addressed by role: "codes" ("codes_1", … for further planes), "scale" ("scale_table"
// and "scale_scale" where scales are codes themselves), "global_scale", "column_scale", "zero",
// "group_index", "table".
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "packing/quant_matrix.h"
#include "packing/spec.h"

namespace trilith::packing {

using TensorsByRole = std::map<std::string, TensorView>;

struct StoredTensor {
  DType dtype = DType::kU8;
  Shape shape;
  std::vector<std::byte> bytes;
};
using StoredByRole = std::map<std::string, StoredTensor>;

struct DecodeOptions {
  bool unused_as_zero = false;  // give codes without a level the level 0 in place of an error
};

// W[rows, cols] from its tensors. Checks every dtype and size first, refuses non-finite scales, and
// refuses codes without a level outside padding, naming the count and the first place.
Result<QuantMatrix> decode(const PackingSpec& spec, const TensorsByRole& tensors, int64_t rows,
                           int64_t cols, const DecodeOptions& options = {});

// The stored tensors from codes, scales and zeros alone: decode's inverse, byte for byte.
Result<StoredByRole> encode(const PackingSpec& spec, const QuantMatrix& matrix);

// A matrix that encode takes: codes, scales, zero points and column groups of the right counts, all
// 0, with the levels of `spec` (none yet where the table lies in the file).
Result<QuantMatrix> blank_matrix(const PackingSpec& spec, int64_t rows, int64_t cols);

// dtype and shape of each tensor that `spec` stores for W[rows, cols], without data.
Result<StoredByRole> stored_layout(const PackingSpec& spec, int64_t rows, int64_t cols);

// N and K from the codes tensor alone, where the spec allows (no padding assumed).
Result<std::pair<int64_t, int64_t>> logical_shape(const PackingSpec& spec, const TensorView& codes);

}  // namespace trilith::packing
