// How text is cut before merging, by the name that a GGUF file with byte-level BPE gives it
// (tokenizer.ggml.pre): the parts of tokenizer.json that say the same. The names are llama.cpp's;
// the patterns are those of the models' own tokenizer.json files, which llama.cpp's follow.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trilith::model {

struct GgufPreTokenizer {
  Json json;                   // "pre_tokenizer"
  Json normalizer;             // null: none
  bool ignore_merges = false;  // words of the vocabulary are taken whole
  bool begins = false;         // with the first token, unless the file says otherwise
};

std::optional<GgufPreTokenizer> gguf_pre_tokenizer(std::string_view name);
// Names that are known, for people.
std::string gguf_pre_tokenizer_names();
// The name under which a tokenizer.json's way is known; empty: none.
std::string_view gguf_pre_tokenizer_name(const Json& tokenizer);

}  // namespace trilith::model
