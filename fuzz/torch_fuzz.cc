// parse_torch on arbitrary bytes: never crashes; views are as large as their shapes say and lie in
// the file or in one of the copies.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "checkpoint/torch_reader.h"

using namespace trilith;

namespace {

bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto content = checkpoint::parse_torch(file, "fuzz");
  if (!content.ok()) {
    TRILITH_CHECK(exit_code(content.error().kind) == 4);
    TRILITH_CHECK(!content.error().to_string().empty());
    return 0;
  }
  for (const TensorView& tensor : content->tensors) {
    const auto count = byte_count(tensor.dtype, tensor.shape);
    TRILITH_CHECK(count.ok() && *count == tensor.bytes.size());
    bool inside = tensor.bytes.empty() || lies_in(tensor.bytes, file);
    for (const auto& copy : content->copies) inside |= lies_in(tensor.bytes, *copy);
    TRILITH_CHECK(inside);
  }
  TRILITH_CHECK(!content->metadata.dump().empty());
  return 0;
}
