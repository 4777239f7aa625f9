// The sample model decoded by its known format, for tests that then damage it.
#pragma once

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/weights.h"

namespace trilith::faults {

Result<checkpoint::Checkpoint> open_sample();
// uint8 [N, K/4], lowest bits first, 0 -> 0, 1 -> +1, 2 -> -1, float16 row scales.
Result<model::FormatSheet> sample_sheet(const checkpoint::Checkpoint& checkpoint);
Result<model::Weights> load_sample(const checkpoint::Checkpoint& checkpoint,
                                   const model::FormatSheet& sheet);

}  // namespace trilith::faults
