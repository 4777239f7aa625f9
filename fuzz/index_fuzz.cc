// parse_shard_index on arbitrary bytes: never crashes; no name reaches out of the folder.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "checkpoint/discovery.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto index = trilith::checkpoint::parse_shard_index(
      std::string_view(reinterpret_cast<const char*>(data), size));
  if (!index.ok()) {
    TRILITH_CHECK(trilith::exit_code(index.error().kind) == 4);
    return 0;
  }
  TRILITH_CHECK(!index->empty());
  for (const auto& [tensor, file] : *index) {
    TRILITH_CHECK(!file.empty() && file != "." && file != "..");
    TRILITH_CHECK(file.find('/') == std::string::npos && file.find('\0') == std::string::npos);
  }
  return 0;
}
