// The worked example of a sheet: the first bytes of a module, their bit fields, and which weights
// they are, under the chosen reading and under the runner-up.
#pragma once

#include "base/tensor_view.h"
#include "inspect/sheet.h"

namespace trilith::inspect {

// `rival` may be null. Specs whose units hold fields besides codes get the bytes alone.
WorkedExample work_example(const TensorView& codes, int64_t rows, int64_t cols,
                           const packing::PackingSpec& spec, const packing::PackingSpec* rival);

}  // namespace trilith::inspect
