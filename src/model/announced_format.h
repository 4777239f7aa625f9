// The format a checkpoint announces by itself: tensor names and dtypes of transformers, and
// quantization_config. What is announced is a claim; load_weights holds it against the bytes.
#pragma once

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"

namespace trilith::model {

// Dense checkpoints (every linear F16, BF16 or F32 under its transformers name): a sheet without
// modules. quant_method "bitnet": its packed modules. Error::ambiguous when nothing usable is
// announced; Error::unsupported when what is announced cannot be computed.
Result<FormatSheet> announced_format(const checkpoint::Checkpoint& checkpoint,
                                     const ModelSpec& spec);

}  // namespace trilith::model
