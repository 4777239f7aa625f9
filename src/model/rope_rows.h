// The order of the rows of q and k in GGUF files of Llama's family: llama.cpp's converter puts the
// two rows of a rotary pair side by side. Within a head of d rows, GGUF's row 2i is transformers'
// row i, and GGUF's row 2i + 1 its row i + d/2 (convert_hf_to_gguf.py, LlamaModel.permute).
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"
#include "model/roles.h"
#include "packing/quant_matrix.h"

namespace trilith::model {

enum class RowOrder { kToGguf, kToTransformers };

// Whether the rows of this module differ between the two, for a general.architecture.
bool has_rope_rows(std::string_view gguf_architecture, Role role);

// Row r of the result is row result[r] of what goes in.
std::vector<int64_t> rope_rows(const ModelSpec& spec, Role role, RowOrder order);

// Rows of a matrix [rows.size(), …] that lie one after the other.
std::vector<float> with_rows(const std::vector<float>& values, const std::vector<int64_t>& rows);

// The same for codes, with the scales and zero points of each row. An error where a scale belongs
// to elements of several rows, but not to all.
Result<packing::QuantMatrix> with_rows(packing::QuantMatrix matrix,
                                       const std::vector<int64_t>& rows);

}  // namespace trilith::model
