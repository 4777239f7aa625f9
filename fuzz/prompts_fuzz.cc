// Prompt and id files of arbitrary bytes: never crash, and accepted ids are in range.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "reconcile/prompts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto prompts = trilith::reconcile::parse_prompts(text);
  if (prompts.ok()) TRILITH_CHECK(!prompts->empty());
  const auto lists = trilith::reconcile::parse_id_lists(text);
  if (!lists.ok()) return 0;
  for (const auto& ids : *lists) {
    TRILITH_CHECK(!ids.empty());
    for (const int32_t id : ids) TRILITH_CHECK(id >= 0);
  }
  return 0;
}
