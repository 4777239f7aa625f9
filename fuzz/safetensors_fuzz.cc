// parse_safetensors on arbitrary bytes: never crashes; views lie inside the file and tile its data.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto content = trilith::checkpoint::parse_safetensors(file, "fuzz");
  if (!content.ok()) {
    TRILITH_CHECK(trilith::exit_code(content.error().kind) == 4);
    TRILITH_CHECK(!content.error().to_string().empty());
    return 0;
  }
  uint64_t bytes = 0;
  volatile unsigned sum = 0;
  for (const trilith::TensorView& tensor : content->tensors) {
    const auto count = trilith::byte_count(tensor.dtype, tensor.shape);
    TRILITH_CHECK(count.ok() && *count == tensor.bytes.size());
    for (const std::byte byte : tensor.bytes) sum = sum + std::to_integer<unsigned>(byte);
    bytes += tensor.bytes.size();
  }
  TRILITH_CHECK(bytes == size - 8 - trilith::load<uint64_t>(file.data()));
  return 0;
}
