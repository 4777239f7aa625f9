#include "text/json_fields.h"

#include <fmt/format.h>

namespace trilith::text {

Error wrong_type(std::string_view field, std::string_view expected, const Json& found) {
  return Error::damaged(fmt::format("the field '{}' of the tokenizer has the wrong type", field))
      .with_expected(std::string(expected))
      .with_found(std::string(found.type_name()))
      .with_hint("compare the file with the one its model was published with");
}

Error not_implemented(std::string_view what) {
  return Error::unsupported(fmt::format("the tokenizer uses {}, which is not implemented", what))
      .with_hint("byte-level BPE tokenizers are supported; see docs/TOKENIZERS.md");
}

Result<const std::string*> string_field(const Json& object, std::string_view field) {
  const std::string* text = object[field].as_string();
  if (text == nullptr) return wrong_type(field, "a string", object[field]);
  return text;
}

Result<bool> bool_field(const Json& object, std::string_view field, std::optional<bool> missing) {
  const Json& value = object[field];
  if (value.is_null() && missing) return *missing;
  const auto flag = value.as_bool();
  if (!flag) return wrong_type(field, "a boolean", value);
  return *flag;
}

Result<const Json::Array*> array_field(const Json& object, std::string_view field) {
  const Json::Array* items = object[field].as_array();
  if (items == nullptr) return wrong_type(field, "an array", object[field]);
  return items;
}

Result<const std::string*> type_of(const Json& part, std::string_view part_name) {
  if (!part.is_object()) return wrong_type(part_name, "an object", part);
  const std::string* type = part["type"].as_string();
  if (type == nullptr) {
    return wrong_type(fmt::format("{}.type", part_name), "a string", part["type"]);
  }
  return type;
}

Result<PatternField> pattern_field(const Json& object) {
  const Json& pattern = object["pattern"];
  for (const bool is_regex : {false, true}) {
    if (const std::string* text = pattern[is_regex ? "Regex" : "String"].as_string()) {
      return PatternField{is_regex, *text};
    }
  }
  return wrong_type("pattern", "{\"String\": …} or {\"Regex\": …}", pattern);
}

}  // namespace trilith::text
