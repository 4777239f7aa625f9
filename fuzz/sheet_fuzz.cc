// format_sheet_from_json on arbitrary JSON: never crashes; what is written from an accepted sheet
// reads back equal.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/format_sheet.h"

using namespace trilith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = Json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!json.ok()) return 0;
  const auto sheet = model::format_sheet_from_json(*json);
  if (!sheet.ok()) {
    TRILITH_CHECK(exit_code(sheet.error().kind) == 4);
    return 0;
  }
  const auto again = model::format_sheet_from_json(model::to_json(*sheet));
  TRILITH_CHECK(again.ok());
  TRILITH_CHECK(model::to_json(*again) == model::to_json(*sheet));
  return 0;
}
