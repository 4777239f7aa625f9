// parse_pickle on arbitrary bytes, without an archive around it: never crashes; values name values
// that are there, and every tensor that a builder makes can be measured.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "checkpoint/torch_tensor.h"

using namespace trilith;
using namespace trilith::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto pickle = parse_pickle(std::as_bytes(std::span(data, size)), torch_callables());
  if (!pickle.ok()) {
    TRILITH_CHECK(exit_code(pickle.error().kind) == 4);
    TRILITH_CHECK(pickle.error().offset.has_value());
    return 0;
  }
  TRILITH_CHECK(pickle->root < pickle->values.size());
  for (const PickleValue& value : pickle->values) {
    for (const uint32_t item : value.items) TRILITH_CHECK(item < pickle->values.size());
    if (!is_torch_tensor(*pickle, value)) continue;
    const auto tensor = torch_tensor(*pickle, value);
    if (!tensor.ok()) {
      TRILITH_CHECK(exit_code(tensor.error().kind) == 4);
      continue;
    }
    const auto count = element_count(tensor->shape);
    TRILITH_CHECK(count.ok());
    TRILITH_CHECK((*count == 0) == (tensor->span() == 0));
    if (*count > 0 && tensor->is_contiguous()) TRILITH_CHECK(tensor->span() == *count);
  }
  return 0;
}
