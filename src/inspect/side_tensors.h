// What a tensor beside the codes is by its values alone, before it gets a role.
#pragma once

#include "inspect/hypothesis.h"

namespace trilith::inspect {

inline bool is_scalar(const TensorView& tensor) { return tensor.count() == 1; }
// Median magnitude, of a sample.
double typical(const TensorView& tensor);
bool all_zero(const TensorView& tensor);
bool all_negative(const TensorView* tensor);
// Integers below `groups`, one a column: which group of scales a column takes.
bool is_column_index(const TensorView& tensor, int64_t cols, int64_t groups);
// Says nothing about the weights: one number, a shape, a text, a column index in plain order,
// zeros.
bool is_mute(const TensorView& tensor, const PackedModule& module);
// Whether packed zero points are the middle code: what symmetric quantisers write.
bool is_middle(const packing::PackingSpec& spec, const TensorView* tensor);

}  // namespace trilith::inspect
