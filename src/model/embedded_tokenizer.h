// The tokenizer that a GGUF file carries in its keys (tokenizer.ggml.*), as the tokenizer.json that
// says the same: byte-level BPE ("gpt2") with the named ways of splitting text that are known
// (gguf_pre_tokenizer.h), and SentencePiece BPE ("llama"), whose scores become merges
// (piece_merges.h). Others are refused by name; a wrong tokenizer gives wrong text that looks
// right.
#pragma once

#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"

namespace trilith::model {

// nullopt: no GGUF file, or one without a vocabulary.
Result<std::optional<Json>> embedded_tokenizer(const checkpoint::Checkpoint& checkpoint);
// The same without what only this project reads: merges that share a rank are then taken in the
// order in which transformers lists them.
Json for_other_readers(const Json& tokenizer);

}  // namespace trilith::model
