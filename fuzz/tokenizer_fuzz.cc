// A tokenizer.json and, behind the first NUL byte, a text: loading refuses or gives a tokenizer
// whose ids lie in its vocabulary, and whose decoder gives the same text at once and piece by
// piece.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace {

constexpr size_t kMaxText = 4096;

void check(const trilith::text::Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  const auto ids = tokenizer.encode(text, {.parse_special = parse_special});
  if (!ids.ok()) return;
  TRILITH_CHECK(std::all_of(ids->begin(), ids->end(),
                            [&](int32_t id) { return id >= 0 && id < tokenizer.vocab_size(); }));
  for (const bool skip_special : {false, true}) {
    const auto decoded = tokenizer.decode(*ids, skip_special);
    TRILITH_CHECK(decoded.ok() && !trilith::first_invalid_utf8(*decoded).has_value());
    trilith::text::StreamingDetokenizer stream(tokenizer, skip_special);
    std::string streamed;
    for (const int32_t id : *ids) streamed += stream.push(id);
    TRILITH_CHECK(streamed + stream.finish() == *decoded);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  const std::string_view text =
      end == std::string_view::npos ? "Hello <s> é  12\n" : input.substr(end + 1, kMaxText);
  const auto json = trilith::Json::parse(input.substr(0, end));
  if (!json.ok()) return 0;
  const auto tokenizer = trilith::text::Tokenizer::from_json(*json);
  if (!tokenizer.ok()) return 0;
  check(*tokenizer, text, true);
  check(*tokenizer, text, false);
  return 0;
}
