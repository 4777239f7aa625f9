// The tokenizer that a GGUF file carries in its keys (tokenizer.ggml.*), as the tokenizer.json that
// says the same: byte-level BPE ("gpt2") with the named ways of splitting text that are known here.
// Others are refused by name; a wrong tokenizer gives wrong text that looks right. The patterns are
// those of the models' own tokenizer.json files.
#pragma once

#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"

namespace trilith::model {

// nullopt: no GGUF file, or one without a vocabulary.
Result<std::optional<Json>> embedded_tokenizer(const checkpoint::Checkpoint& checkpoint);

}  // namespace trilith::model
