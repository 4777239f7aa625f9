// What a token stands for in the text: bytes of the byte alphabet (ByteLevel), or, as SentencePiece
// models have it, characters with blanks written as U+2581 and single bytes as "<0xE2>" (a Sequence
// of Replace, ByteFallback, Fuse and Strip). Tokens are decoded one by one, so that text can be
// streamed; what strips the begin of a whole text is a step of its own. Immutable after load.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::text {

class Decoder {
 public:
  // `json` is the "decoder" member.
  static Result<Decoder> from_json(const Json& json);

  std::string bytes_of(std::string_view token) const;
  // The text of all tokens, less the blank that encoding puts before it.
  std::string without_prefix(std::string text) const;

 private:
  enum class Stage { kReplace, kByteFallback, kFuse, kStrip };
  Status read_sequence(const Json& json);
  Status read_strip(const Json& json);

  struct Replacement {
    std::string from;
    std::string to;
  };
  bool byte_level_ = false;
  bool byte_fallback_ = false;
  std::vector<Replacement> replacements_;
  std::string prefix_;       // a character that is taken off the begin of the text,
  size_t prefix_count_ = 0;  // at most so often
};

// The byte that "<0x0A>" stands for; -1 for other tokens.
int byte_of_token(std::string_view token);

}  // namespace trilith::text
