// A byte-level tokenizer of the size of a test: the 256 bytes as ids 0 … 255 (by byte), then a few
// merges, then "<|end|>" (special) and "<tool>" (not special).
#pragma once

#include <string>

#include "base/json.h"
#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/tokenizer.h"

namespace trilith::text {

inline Json small_tokenizer_json() {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    std::string text;
    append_utf8(text, byte_to_character(static_cast<uint8_t>(byte)));
    vocabulary.set(text, byte);
  }
  int next = 256;
  for (const char* token : {"he", "ll", "hell", "hello", "Ġhello", "ĠĠ"}) {
    vocabulary.set(token, next++);
  }
  Json merges = Json(Json::Array());
  const std::pair<const char*, const char*> pairs[] = {{"h", "e"},    {"l", "l"},     {"he", "ll"},
                                                       {"hell", "o"}, {"Ġ", "hello"}, {"Ġ", "Ġ"}};
  for (const auto& [left, right] : pairs) {
    merges.push(Json(Json::Array{Json(left), Json(right)}));
  }
  const auto added = [](int id, const char* content, bool special) {
    return Json::object({{"id", id},
                         {"content", content},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", !special},
                         {"special", special}});
  };
  Json json = Json::object({{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}});
  json.set("added_tokens",
           Json(Json::Array{added(next, "<|end|>", true), added(next + 1, "<tool>", false)}));
  json.set("normalizer", nullptr);
  const Json byte_level = Json::object({{"type", "ByteLevel"},
                                        {"add_prefix_space", false},
                                        {"trim_offsets", true},
                                        {"use_regex", true}});
  json.set("pre_tokenizer", byte_level);
  json.set("post_processor", nullptr);
  json.set("decoder", byte_level);
  Json model = Json::object({{"type", "BPE"}, {"unk_token", nullptr}, {"byte_fallback", false}});
  model.set("vocab", std::move(vocabulary));
  model.set("merges", std::move(merges));
  json.set("model", std::move(model));
  return json;
}

constexpr int32_t kHello = 259, kSpaceHello = 260, kTwoSpaces = 261, kEnd = 262, kTool = 263;

}  // namespace trilith::text
