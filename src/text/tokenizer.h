// Tokenizer: Hugging Face tokenizer.json, BPE over bytes or over characters with bytes to fall back
// on. Text in, ids out, and back; the same ids as the `tokenizers` library. Immutable after load;
// safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::text {

struct EncodeOptions {
  bool add_special_tokens = true;  // what the post-processor adds (bos …)
  bool parse_special = true;       // "<|im_start|>" in the text is that token
};

class Tokenizer {
 public:
  // `json` is the parsed tokenizer.json. Anything it asks for that is not implemented is refused by
  // name (a wrong tokenizer gives wrong text that looks right).
  static Result<Tokenizer> from_json(const Json& json);
  static Result<Tokenizer> from_file(const std::string& path);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Refuses text that is not UTF-8 (with the offset) and text above 64 MiB.
  Result<std::vector<int32_t>> encode(std::string_view text, const EncodeOptions& = {}) const;
  // Bytes that are not UTF-8 become U+FFFD. The blank that encoding puts before a text is taken
  // off, where the tokenizer says so. Ids out of range are refused.
  Result<std::string> decode(const std::vector<int32_t>& ids, bool skip_special = true) const;

  int32_t vocab_size() const;  // largest id + 1
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // The raw bytes of a token, empty for ids without one.
  std::string_view token_bytes(int32_t id) const;
  bool is_special(int32_t id) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

// Text as it arrives: push() returns what became complete with this token, and never splits a UTF-8
// sequence. What it gives continues a text, so that a blank at its begin stays. finish() returns
// the rest, with U+FFFD for an incomplete tail. The tokenizer must outlive it. Not thread-safe.
class StreamingDetokenizer {
 public:
  explicit StreamingDetokenizer(const Tokenizer& tokenizer, bool skip_special = true);
  std::string push(int32_t id);
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace trilith::text
