// Json::parse on arbitrary bytes: never crashes, and what it accepts survives dump and parse.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = trilith::Json::parse(text);
  if (!first.ok()) return 0;
  const auto second = trilith::Json::parse(first.value().dump());
  TRILITH_CHECK(second.ok());
  TRILITH_CHECK(second.value() == first.value());
  return 0;
}
