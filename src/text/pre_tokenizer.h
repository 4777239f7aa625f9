// Cuts normalised text into the pieces that BPE works on: ByteLevel, Split, Digits, Punctuation,
// Whitespace, WhitespaceSplit and sequences of them. Immutable after load; a PreTokenizerRun holds
// one thread's scratch memory.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/regex.h"
#include "text/unicode.h"

namespace trilith::text {

// Text cut at `ends`: pieces in order, without gaps, none of them empty.
struct Pieces {
  std::string text;
  std::vector<size_t> ends;
};

class PreTokenizer {
 public:
  // `json` is the "pre_tokenizer" member; null leaves the text whole.
  static Result<PreTokenizer> from_json(const Json& json);

 private:
  friend class PreTokenizerRun;

  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  struct Split {
    Regex pattern;
    Behavior behavior;
    bool invert;
  };
  struct SplitAtFlag {  // each code point with the flag is a match
    CodePointFlag flag;
    Behavior behavior;
  };
  struct Words {};  // Whitespace: \w+|[^\w\s]+, the rest removed
  struct AddPrefixSpace {};
  struct ByteAlphabet {};
  using Step = std::variant<Split, SplitAtFlag, Words, AddPrefixSpace, ByteAlphabet>;

  Status add(const Json& json, int depth);
  Status add_byte_level(const Json& json);
  Status add_split(const Json& json);
  static Result<Behavior> behavior_of(const Json& json, std::optional<Behavior> missing);

  std::vector<Step> steps_;
};

class PreTokenizerRun {
 public:
  explicit PreTokenizerRun(const PreTokenizer& pre_tokenizer);
  Result<Pieces> cut(std::string text);

 private:
  struct Span {
    size_t begin;
    size_t end;
    bool is_match;
  };
  Status spans_of(size_t step, std::string_view piece);
  void merge_spans(PreTokenizer::Behavior behavior);

  const PreTokenizer* pre_tokenizer_;
  std::vector<std::optional<RegexMatcher>> matchers_;  // one for each step that is a Split
  std::vector<Span> spans_;
};

}  // namespace trilith::text
