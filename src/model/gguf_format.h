// GGUF files as models: which stored tensor is which part and how it is packed, by the names and
// types in the header, held against the bytes. Their rows of q and k may lie in another order
// (rope_rows.h), and their embedding may be packed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/format_sheet.h"
#include "model/model_spec.h"

namespace trilith::model {

bool is_gguf(const checkpoint::Checkpoint& checkpoint);
// general.architecture, or empty.
std::string gguf_architecture_of(const checkpoint::Checkpoint& checkpoint);

// The format of every part; an error where a type is not read, the bytes contradict it, or it has
// several orders that nothing tells apart.
Result<FormatSheet> gguf_format(const checkpoint::Checkpoint& checkpoint);

}  // namespace trilith::model
