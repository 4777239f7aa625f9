#include "text/normalizer.h"

#include <fmt/format.h>

#include "text/json_fields.h"
#include "text/limits.h"
#include "text/unicode.h"

namespace trilith::text {

Result<Normalizer> Normalizer::from_json(const Json& json) {
  Normalizer normalizer;
  if (!json.is_null()) TRILITH_RETURN_IF_ERROR(normalizer.add(json, 0));
  return normalizer;
}

Status Normalizer::add(const Json& json, int depth) {
  TRILITH_ASSIGN_OR_RETURN(const std::string* const type, type_of(json, "normalizer"));
  if (*type == "Sequence") {
    if (depth == kMaxSequenceDepth) return not_implemented("deeply nested normalizer sequences");
    TRILITH_ASSIGN_OR_RETURN(const Json::Array* const items, array_field(json, "normalizers"));
    for (const Json& item : *items) TRILITH_RETURN_IF_ERROR(add(item, depth + 1));
    return {};
  }
  if (steps_.size() == kMaxSteps) return not_implemented("a very long normalizer sequence");
  if (*type == "NFC") {
    steps_.emplace_back(Compose{});
  } else if (*type == "NFD") {
    steps_.emplace_back(Decompose{});
  } else if (*type == "Prepend") {
    TRILITH_ASSIGN_OR_RETURN(const std::string* const text, string_field(json, "prepend"));
    if (text->size() > kMaxInsertedBytes) return not_implemented("a very long Prepend");
    steps_.emplace_back(Prepend{*text});
  } else if (*type == "Replace") {
    TRILITH_ASSIGN_OR_RETURN(const PatternField pattern, pattern_field(json));
    TRILITH_ASSIGN_OR_RETURN(const std::string* const text, string_field(json, "content"));
    if (pattern.text.empty()) return not_implemented("a Replace of the empty string");
    if (text->size() > kMaxInsertedBytes) return not_implemented("a very long Replace");
    TRILITH_ASSIGN_OR_RETURN(Regex regex, pattern.is_regex ? Regex::compile(pattern.text)
                                                           : Regex::compile_literal(pattern.text));
    steps_.emplace_back(Replace{std::move(regex), *text});
  } else {
    return not_implemented(fmt::format("the normalizer '{}'", *type));
  }
  return {};
}

Result<std::string> Normalizer::apply(std::string text) const {
  for (const Step& step : steps_) {
    TRILITH_ASSIGN_OR_RETURN(text, apply(step, text));
    if (text.size() > kMaxPreparedBytes) {
      return Error::unsupported("the normalizer makes the text too long")
          .with_expected(fmt::format("at most {} bytes", kMaxPreparedBytes));
    }
  }
  return text;
}

Result<std::string> Normalizer::apply(const Step& step, const std::string& text) {
  if (std::holds_alternative<Compose>(step)) return to_nfc(text);
  if (std::holds_alternative<Decompose>(step)) return to_nfd(text);
  if (const auto* prepend = std::get_if<Prepend>(&step)) {
    return text.empty() ? text : prepend->text + text;
  }
  const auto& replace = std::get<Replace>(step);
  TRILITH_ASSIGN_OR_RETURN(const std::vector<RegexMatch> matches,
                           RegexMatcher(replace.pattern).find_all(text));
  std::string result;
  size_t copied = 0;
  for (const RegexMatch& match : matches) {
    result.append(text, copied, match.begin - copied);
    result += replace.text;
    copied = match.end;
    if (result.size() > kMaxPreparedBytes) break;  // apply() refuses it
  }
  result.append(text, copied);
  return result;
}

}  // namespace trilith::text
