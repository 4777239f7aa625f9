#include "base/utf8.h"
#include "text/tokenizer.h"

namespace trilith::text {

StreamingDetokenizer::StreamingDetokenizer(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer), skip_special_(skip_special) {}

std::string StreamingDetokenizer::push(int32_t id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  pending_ += tokenizer_->token_bytes(id);
  const size_t complete = pending_.size() - incomplete_utf8_tail(pending_);
  std::string text;
  append_lossy_utf8(text, std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  return text;
}

std::string StreamingDetokenizer::finish() {
  std::string text;
  append_lossy_utf8(text, pending_);
  pending_.clear();
  return text;
}

}  // namespace trilith::text
