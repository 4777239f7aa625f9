// Tokens beside the model's vocabulary ("<|im_start|>"), found in the text before anything else
// happens to it: first those that match the text as it is, then, in what remains after
// normalisation, those that match normalised text. Of the tokens that match at the leftmost place
// the longest counts. Immutable after load.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/bpe.h"
#include "text/normalizer.h"

namespace trilith::text {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  std::string pattern;  // what is searched: `content`, normalised when the token says so
  bool single_word = false;
  bool lstrip = false;  // the match takes white space before it along
  bool rstrip = false;
  bool normalized = false;
  bool special = false;
};

// A part of the text: an added token, or text still to be encoded.
struct Segment {
  std::string_view text;
  std::optional<int32_t> id;
};

class AddedTokens {
 public:
  // `json` is the "added_tokens" member. Ids must be those Hugging Face would give: the model's for
  // a token in its vocabulary, else the next behind it.
  static Result<AddedTokens> from_json(const Json& json, const BpeModel& model,
                                       const Normalizer& normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  // Whether `form`, a token as decoding sees it, is skipped with the special tokens.
  bool is_special(std::string_view form) const { return special_.contains(std::string(form)); }

  // Cuts `text`; `normalized` says which of the two sets of tokens is searched.
  std::vector<Segment> split(std::string_view text, bool normalized, bool parse_special) const;

 private:
  // Byte trie; a match is the deepest node with a token on the way from the root.
  class Trie {
   public:
    bool add(std::string_view pattern, uint32_t token);  // false: already there
    // The longest pattern at `offset`: its token and length.
    std::optional<std::pair<uint32_t, size_t>> longest_at(std::string_view text,
                                                          size_t offset) const;
    bool empty() const { return tokens_.size() == 1; }

   private:
    static constexpr uint32_t kNone = ~uint32_t{0};
    std::unordered_map<uint64_t, uint32_t> children_;  // node << 8 | byte
    std::vector<uint32_t> tokens_ = {kNone};           // by node
    std::array<bool, 256> first_{};                    // bytes that begin a pattern
  };

  Status add(const Json& json, const BpeModel& model, const Normalizer& normalizer,
             int64_t& next_id);

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> by_content_;
  std::unordered_set<std::string> special_;
  Trie raw_;
  Trie normalized_;
};

}  // namespace trilith::text
