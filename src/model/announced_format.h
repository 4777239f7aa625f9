// The format a checkpoint announces (announce/announce.h), as the sheet that the loader takes: the
// claims about this architecture's linears, held against the bytes.
#pragma once

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"

namespace trilith::model {

// Dense checkpoints (every linear F16, BF16 or F32 under its transformers name): a sheet without
// modules. Error::ambiguous when nothing usable is announced; Error::damaged when the bytes
// contradict what is; Error::unsupported when what is announced cannot be computed.
Result<FormatSheet> announced_format(const checkpoint::Checkpoint& checkpoint,
                                     const ModelSpec& spec);

}  // namespace trilith::model
