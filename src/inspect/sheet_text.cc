#include "inspect/sheet_text.h"

#include <fmt/format.h>

namespace trilith::inspect {

std::string plain_text(const Json& value) {
  return value.as_string() != nullptr ? *value.as_string() : value.dump();
}

std::string figures(const Json& numbers) {
  std::string text;
  const Json::Object* const object = numbers.as_object();
  if (object == nullptr) return text;
  for (const auto& [name, value] : *object) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name, plain_text(value));
  }
  return text;
}

}  // namespace trilith::inspect
