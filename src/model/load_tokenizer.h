// Where a model's tokenizer comes from: the file that the user names, the vocabulary in a GGUF
// file's keys, or tokenizer.json beside the weights, in this order.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "text/tokenizer.h"

namespace trilith::model {

struct LoadedTokenizer {
  text::Tokenizer tokenizer;
  std::string sha256;  // of tokenizer.json
};

// `named`: a tokenizer.json or the folder that holds one; empty: none is named. nullopt: the model
// has no tokenizer. A vocabulary that is there and not read is an error, which says what would
// help.
Result<std::optional<LoadedTokenizer>> load_tokenizer(const checkpoint::Checkpoint& checkpoint,
                                                      const std::string& named = "");

}  // namespace trilith::model
