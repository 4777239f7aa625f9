#include "text/added_tokens.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/json_fields.h"
#include "text/limits.h"
#include "text/unicode.h"

namespace trilith::text {
namespace {

constexpr size_t kMaxAddedTokenBytes = 1024;

bool ends_with(std::string_view text, size_t offset, CodePointFlag flag) {
  return offset > 0 && (code_point_flags(previous_code_point(text, offset)) & flag) != 0;
}

bool starts_with(std::string_view text, size_t offset, CodePointFlag flag) {
  return offset < text.size() && (code_point_flags(next_code_point(text, offset)) & flag) != 0;
}

}  // namespace

bool AddedTokens::Trie::add(std::string_view pattern, uint32_t token) {
  first_[static_cast<uint8_t>(pattern.front())] = true;
  uint32_t node = 0;
  for (const char c : pattern) {
    const uint64_t edge = uint64_t{node} << 8 | static_cast<uint8_t>(c);
    const auto [child, is_new] = children_.try_emplace(edge, static_cast<uint32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(kNone);
    node = child->second;
  }
  if (tokens_[node] != kNone) return false;
  tokens_[node] = token;
  return true;
}

std::optional<std::pair<uint32_t, size_t>> AddedTokens::Trie::longest_at(std::string_view text,
                                                                         size_t offset) const {
  if (!first_[static_cast<uint8_t>(text[offset])]) return std::nullopt;
  std::optional<std::pair<uint32_t, size_t>> longest;
  uint32_t node = 0;
  for (size_t i = offset; i < text.size(); ++i) {
    const auto child = children_.find(uint64_t{node} << 8 | static_cast<uint8_t>(text[i]));
    if (child == children_.end()) break;
    node = child->second;
    if (tokens_[node] != kNone) longest = {tokens_[node], i + 1 - offset};
  }
  return longest;
}

Result<AddedTokens> AddedTokens::from_json(const Json& json, const BpeModel& model,
                                           const Normalizer& normalizer) {
  AddedTokens added;
  if (json.is_null()) return added;
  const Json::Array* items = json.as_array();
  if (items == nullptr) return wrong_type("added_tokens", "an array", json);
  auto next_id = static_cast<int64_t>(model.token_count());
  for (const Json& item : *items) {
    TRILITH_RETURN_IF_ERROR(added.add(item, model, normalizer, next_id));
  }
  return added;
}

Status AddedTokens::add(const Json& json, const BpeModel& model, const Normalizer& normalizer,
                        int64_t& next_id) {
  if (!json.is_object()) return wrong_type("added_tokens[]", "an object", json);
  AddedToken token;
  TRILITH_ASSIGN_OR_RETURN(const std::string* const content, string_field(json, "content"));
  token.content = token.pattern = *content;
  TRILITH_ASSIGN_OR_RETURN(token.single_word, bool_field(json, "single_word"));
  TRILITH_ASSIGN_OR_RETURN(token.lstrip, bool_field(json, "lstrip"));
  TRILITH_ASSIGN_OR_RETURN(token.rstrip, bool_field(json, "rstrip"));
  TRILITH_ASSIGN_OR_RETURN(token.normalized, bool_field(json, "normalized"));
  TRILITH_ASSIGN_OR_RETURN(token.special, bool_field(json, "special"));
  const auto id = json["id"].is_integer() ? json["id"].as_integer() : std::nullopt;
  if (!id) return wrong_type("added_tokens[].id", "an integer", json["id"]);
  if (content->empty()) return {};  // Hugging Face passes over it, too
  if (content->size() > kMaxAddedTokenBytes) {
    return not_implemented(fmt::format("an added token of {} bytes", content->size()));
  }
  if (by_content_.contains(*content)) {
    return Error::damaged(fmt::format("the added token '{}' is listed twice", *content))
        .with_hint("remove one of them");
  }
  const auto in_model = model.token_to_id(*content);
  const int64_t expected = in_model ? int64_t{*in_model} : next_id++;
  if (*id != expected || expected >= kMaxTokens) {
    return Error::damaged(fmt::format("the added token '{}' has an id it cannot have", *content))
        .with_expected(fmt::format("{} ({})", expected,
                                   in_model ? "its id in the model's vocabulary"
                                            : "the next free id behind the vocabulary"))
        .with_found(fmt::format("{}", *id))
        .with_hint("Hugging Face would quietly use the expected id; correct the file");
  }
  token.id = static_cast<int32_t>(expected);
  if (token.normalized) {
    TRILITH_ASSIGN_OR_RETURN(token.pattern, normalizer.apply(token.content));
  }
  Trie& trie = token.normalized ? normalized_ : raw_;
  if (token.pattern.empty() || !trie.add(token.pattern, static_cast<uint32_t>(tokens_.size()))) {
    return Error::damaged(fmt::format("the added token '{}' is, normalised, empty or the same as "
                                      "another",
                                      token.content))
        .with_hint("set \"normalized\" to false for one of them");
  }
  if (token.special) special_.insert(token.content);
  by_content_.emplace(token.content, tokens_.size());
  tokens_.push_back(std::move(token));
  return {};
}

std::vector<Segment> AddedTokens::split(std::string_view text, bool normalized,
                                        bool parse_special) const {
  std::vector<Segment> segments;
  const Trie& trie = normalized ? normalized_ : raw_;
  size_t covered = 0;
  const size_t searched = trie.empty() ? 0 : text.size();
  for (size_t offset = 0; offset < searched;) {
    const auto found = trie.longest_at(text, offset);
    if (!found) {
      ++offset;
      continue;
    }
    const AddedToken& token = tokens_[found->first];
    size_t begin = offset;
    size_t end = offset + found->second;
    offset = end;  // also when the match is then rejected
    if (token.special && !parse_special) continue;
    if (token.single_word &&
        (ends_with(text, begin, kCrateWord) || starts_with(text, end, kCrateWord))) {
      continue;
    }
    if (token.lstrip) {
      while (begin > covered && ends_with(text, begin, kCrateSpace)) {
        previous_code_point(text, begin);
      }
    }
    if (token.rstrip) {
      while (starts_with(text, end, kCrateSpace)) next_code_point(text, end);
    }
    if (covered < begin) segments.push_back({text.substr(covered, begin - covered), std::nullopt});
    segments.push_back({text.substr(begin, end - begin), token.id});
    covered = end;
  }
  if (covered < text.size()) segments.push_back({text.substr(covered), std::nullopt});
  return segments;
}

}  // namespace trilith::text
