// parse_gguf on arbitrary bytes: never crashes; views lie inside the file and do not overlap,
// claims fit their views, arrays read back, and names and config come out of it without harm.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "checkpoint/gguf_model.h"

using namespace trilith;
using namespace trilith::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto content = parse_gguf(file, "fuzz");
  if (!content.ok()) {
    TRILITH_CHECK(exit_code(content.error().kind) == 4);
    TRILITH_CHECK(!content.error().to_string().empty());
    return 0;
  }
  volatile unsigned sum = 0;
  std::vector<std::pair<const std::byte*, size_t>> places;
  TRILITH_CHECK(content->claims.size() == content->tensors.size());
  for (size_t i = 0; i < content->tensors.size(); ++i) {
    const TensorView& tensor = content->tensors[i];
    const GgmlClaim& claim = content->claims[i];
    const auto count = byte_count(tensor.dtype, tensor.shape);
    TRILITH_CHECK(count.ok() && *count == tensor.bytes.size());
    TRILITH_CHECK(claim.types.empty() != claim.problem.empty());
    if (claim.type() != nullptr) {
      TRILITH_CHECK(ggml_bytes(*claim.type(), claim.shape) == tensor.bytes.size());
    }
    if (!tensor.bytes.empty()) places.emplace_back(tensor.bytes.data(), tensor.bytes.size());
    for (const std::byte byte : tensor.bytes) sum = sum + std::to_integer<unsigned>(byte);
    if (const auto name = transformers_name(tensor.name)) TRILITH_CHECK(!name->empty());
  }
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) {
    TRILITH_CHECK(places[i - 1].first + places[i - 1].second <= places[i].first);
  }
  for (const GgufArray& array : content->arrays) {
    const auto strings = array.strings();
    const auto integers = array.integers();
    const auto numbers = array.numbers();
    TRILITH_CHECK(strings || integers || numbers);
    TRILITH_CHECK(!strings || strings->size() == array.count);
    TRILITH_CHECK(!integers || integers->size() == array.count);
    TRILITH_CHECK(!numbers || numbers->size() == array.count);
  }
  const auto config = gguf_config(content->metadata, content->arrays, content->tensors);
  TRILITH_CHECK(config.ok() || exit_code(config.error().kind) == 4);
  TRILITH_CHECK(!content->metadata.dump().empty());
  return 0;
}
