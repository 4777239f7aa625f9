#include "text/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/json_fields.h"
#include "text/limits.h"

namespace trilith::text {
namespace {

// GPT-2's pattern, which ByteLevel uses unless "use_regex" is false.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace

Result<PreTokenizer> PreTokenizer::from_json(const Json& json) {
  PreTokenizer pre_tokenizer;
  if (!json.is_null()) TRILITH_RETURN_IF_ERROR(pre_tokenizer.add(json, 0));
  return pre_tokenizer;
}

Result<PreTokenizer::Behavior> PreTokenizer::behavior_of(const Json& json,
                                                         std::optional<Behavior> missing) {
  constexpr std::pair<std::string_view, Behavior> kNames[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous},
  };
  if (json["behavior"].is_null() && missing) return *missing;
  TRILITH_ASSIGN_OR_RETURN(const std::string* const name, string_field(json, "behavior"));
  for (const auto& [known, behavior] : kNames) {
    if (*name == known) return behavior;
  }
  return not_implemented(fmt::format("the split behavior '{}'", *name));
}

Status PreTokenizer::add(const Json& json, int depth) {
  TRILITH_ASSIGN_OR_RETURN(const std::string* const type, type_of(json, "pre_tokenizer"));
  if (*type == "Sequence") {
    if (depth == kMaxSequenceDepth) return not_implemented("deeply nested pre-tokenizer sequences");
    TRILITH_ASSIGN_OR_RETURN(const Json::Array* const items, array_field(json, "pretokenizers"));
    for (const Json& item : *items) TRILITH_RETURN_IF_ERROR(add(item, depth + 1));
    return {};
  }
  if (steps_.size() >= kMaxSteps) return not_implemented("a very long pre-tokenizer sequence");
  if (*type == "ByteLevel") return add_byte_level(json);
  if (*type == "Split") return add_split(json);
  if (*type == "Digits") {
    TRILITH_ASSIGN_OR_RETURN(const bool individual, bool_field(json, "individual_digits"));
    steps_.emplace_back(
        SplitAtFlag{kNumeric, individual ? Behavior::kIsolated : Behavior::kContiguous});
  } else if (*type == "Punctuation") {
    TRILITH_ASSIGN_OR_RETURN(const Behavior behavior, behavior_of(json, Behavior::kIsolated));
    steps_.emplace_back(SplitAtFlag{kPunctuation, behavior});
  } else if (*type == "WhitespaceSplit") {
    steps_.emplace_back(SplitAtFlag{kStandardSpace, Behavior::kRemoved});
  } else if (*type == "Whitespace") {
    steps_.emplace_back(Words{});
  } else {
    return not_implemented(fmt::format("the pre-tokenizer '{}'", *type));
  }
  return {};
}

Status PreTokenizer::add_byte_level(const Json& json) {
  TRILITH_ASSIGN_OR_RETURN(const bool add_prefix_space, bool_field(json, "add_prefix_space"));
  TRILITH_ASSIGN_OR_RETURN(const bool use_regex, bool_field(json, "use_regex", true));
  if (add_prefix_space) steps_.emplace_back(AddPrefixSpace{});
  if (use_regex) {
    TRILITH_ASSIGN_OR_RETURN(Regex regex, Regex::compile(kByteLevelPattern));
    steps_.emplace_back(Split{std::move(regex), Behavior::kIsolated, false});
  }
  steps_.emplace_back(ByteAlphabet{});
  return {};
}

Status PreTokenizer::add_split(const Json& json) {
  TRILITH_ASSIGN_OR_RETURN(const PatternField pattern, pattern_field(json));
  TRILITH_ASSIGN_OR_RETURN(const Behavior behavior, behavior_of(json, std::nullopt));
  TRILITH_ASSIGN_OR_RETURN(const bool invert, bool_field(json, "invert"));
  TRILITH_ASSIGN_OR_RETURN(Regex regex, pattern.is_regex ? Regex::compile(pattern.text)
                                                         : Regex::compile_literal(pattern.text));
  steps_.emplace_back(Split{std::move(regex), behavior, invert});
  return {};
}

PreTokenizerRun::PreTokenizerRun(const PreTokenizer& pre_tokenizer)
    : pre_tokenizer_(&pre_tokenizer) {
  for (const PreTokenizer::Step& step : pre_tokenizer.steps_) {
    matchers_.emplace_back();
    if (const auto* split = std::get_if<PreTokenizer::Split>(&step)) {
      matchers_.back().emplace(split->pattern);
    }
  }
}

Result<Pieces> PreTokenizerRun::cut(std::string text) {
  Pieces pieces;
  if (text.empty()) return pieces;
  pieces.ends = {text.size()};
  pieces.text = std::move(text);
  for (size_t i = 0; i < pre_tokenizer_->steps_.size(); ++i) {
    const PreTokenizer::Step& step = pre_tokenizer_->steps_[i];
    Pieces next;
    next.text.reserve(pieces.text.size());
    size_t begin = 0;
    for (const size_t end : pieces.ends) {
      const std::string_view piece = std::string_view(pieces.text).substr(begin, end - begin);
      begin = end;
      if (std::holds_alternative<PreTokenizer::AddPrefixSpace>(step)) {
        if (piece.front() != ' ') next.text += ' ';
        next.text += piece;
        next.ends.push_back(next.text.size());
      } else if (std::holds_alternative<PreTokenizer::ByteAlphabet>(step)) {
        next.text += to_byte_alphabet(piece);
        next.ends.push_back(next.text.size());
      } else {
        TRILITH_RETURN_IF_ERROR(spans_of(i, piece));
        for (const Span& span : spans_) {
          next.text += piece.substr(span.begin, span.end - span.begin);
          if (span.end != span.begin) next.ends.push_back(next.text.size());
        }
      }
      if (next.text.size() > kMaxPreparedBytes) {
        return Error::unsupported("the pre-tokenizer makes the text too long")
            .with_expected(fmt::format("at most {} bytes", kMaxPreparedBytes));
      }
    }
    pieces = std::move(next);
  }
  return pieces;
}

// Fills spans_ with the parts of `piece` to keep.
Status PreTokenizerRun::spans_of(size_t step_index, std::string_view piece) {
  const PreTokenizer::Step& step = pre_tokenizer_->steps_[step_index];
  spans_.clear();
  size_t covered = 0;
  const auto add_match = [&](size_t begin, size_t end) {
    if (covered != begin) spans_.push_back({covered, begin, false});
    spans_.push_back({begin, end, true});
    covered = end;
  };
  auto behavior = PreTokenizer::Behavior::kRemoved;
  bool invert = false;
  if (const auto* split = std::get_if<PreTokenizer::Split>(&step)) {
    TRILITH_ASSIGN_OR_RETURN(const std::vector<RegexMatch> matches,
                             matchers_[step_index]->find_all(piece));
    for (const RegexMatch& match : matches) add_match(match.begin, match.end);
    behavior = split->behavior;
    invert = split->invert;
  } else if (const auto* flagged = std::get_if<PreTokenizer::SplitAtFlag>(&step)) {
    for (size_t offset = 0; offset < piece.size();) {
      const size_t begin = offset;
      if (code_point_flags(next_code_point(piece, offset)) & flagged->flag) {
        add_match(begin, offset);
      }
    }
    behavior = flagged->behavior;
  } else {  // Words
    constexpr int kBlank = 0, kWord = 1, kOther = 2;
    const auto kind_at = [&](size_t& offset) {
      const uint8_t flags = code_point_flags(next_code_point(piece, offset));
      return flags & kCrateWord ? kWord : flags & kCrateSpace ? kBlank : kOther;
    };
    for (size_t offset = 0; offset < piece.size();) {
      const size_t begin = offset;
      const int kind = kind_at(offset);
      for (size_t ahead = offset; ahead < piece.size() && kind_at(ahead) == kind;) offset = ahead;
      if (kind != kBlank) add_match(begin, offset);
    }
    invert = true;
  }
  if (covered != piece.size()) spans_.push_back({covered, piece.size(), false});
  if (invert) {
    for (Span& span : spans_) span.is_match = !span.is_match;
  }
  merge_spans(behavior);
  return {};
}

void PreTokenizerRun::merge_spans(PreTokenizer::Behavior behavior) {
  using Behavior = PreTokenizer::Behavior;
  if (behavior == Behavior::kIsolated) return;
  if (behavior == Behavior::kRemoved) {
    std::erase_if(spans_, [](const Span& span) { return span.is_match; });
    return;
  }
  const bool backwards = behavior == Behavior::kMergedWithNext;
  if (backwards) std::reverse(spans_.begin(), spans_.end());
  std::vector<Span> merged;
  bool previous = false;
  for (const Span& span : spans_) {
    const bool joins =
        behavior == Behavior::kContiguous ? span.is_match == previous : span.is_match && !previous;
    previous = span.is_match;
    if (!joins || merged.empty()) {
      merged.push_back(span);
    } else if (backwards) {
      merged.back().begin = span.begin;
    } else {
      merged.back().end = span.end;
    }
  }
  if (backwards) std::reverse(merged.begin(), merged.end());
  spans_ = std::move(merged);
}

}  // namespace trilith::text
