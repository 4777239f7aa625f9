// Values of a sheet as the words that its Markdown and its HTML form share. Unescaped: each form
// escapes what it prints.
#pragma once

#include <string>

#include "base/json.h"

namespace trilith::inspect {

// A string without its quotes, anything else as JSON.
std::string plain_text(const Json& value);
// The members of an object: "name: value; name: value".
std::string figures(const Json& numbers);

}  // namespace trilith::inspect
