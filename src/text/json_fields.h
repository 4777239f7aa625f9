// Typed access to the fields of tokenizer.json, with errors that name the field and what was found.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace trilith::text {

Error wrong_type(std::string_view field, std::string_view expected, const Json& found);
Error not_implemented(std::string_view what);

Result<const std::string*> string_field(const Json& object, std::string_view field);
// `missing` is for a field that is absent or null; without it the field must be there.
Result<bool> bool_field(const Json& object, std::string_view field,
                        std::optional<bool> missing = std::nullopt);
Result<const Json::Array*> array_field(const Json& object, std::string_view field);
// The "type" member of a part of the tokenizer.
Result<const std::string*> type_of(const Json& part, std::string_view part_name);
// {"String": …} or {"Regex": …}: what Split and Replace look for.
struct PatternField {
  bool is_regex;
  std::string text;
};
Result<PatternField> pattern_field(const Json& object);

}  // namespace trilith::text
