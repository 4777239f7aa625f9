// parse_npy on arbitrary bytes: never crashes; a view is as large as its shape says and lies in the
// file or in the copy.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "checkpoint/npy_reader.h"

using namespace trilith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto content = checkpoint::parse_npy(file, "fuzz");
  if (!content.ok()) {
    TRILITH_CHECK(exit_code(content.error().kind) == 4);
    TRILITH_CHECK(!content.error().to_string().empty());
    return 0;
  }
  const TensorView& tensor = content->tensor;
  const auto count = byte_count(tensor.dtype, tensor.shape);
  TRILITH_CHECK(count.ok() && *count == tensor.bytes.size());
  const std::span<const std::byte> whole = content->copy ? std::span(*content->copy) : file;
  TRILITH_CHECK(tensor.bytes.data() >= whole.data());
  TRILITH_CHECK(tensor.bytes.data() + tensor.bytes.size() <= whole.data() + whole.size());
  return 0;
}
