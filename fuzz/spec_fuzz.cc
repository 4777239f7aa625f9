// A packing spec as JSON, a zero byte, then two bytes of shape and the bytes of every tensor:
// spec_from_json never crashes and what it accepts comes back from its own JSON; decode is an error
// or a matrix that encode writes and decode reads again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "packing/codec.h"

namespace {

using namespace trilith;           // NOLINT
using namespace trilith::packing;  // NOLINT

TensorsByRole views_of(const StoredByRole& stored) {
  TensorsByRole views;
  for (const auto& [role, tensor] : stored) {
    views[role] = TensorView{role, tensor.dtype, tensor.shape, tensor.bytes};
  }
  return views;
}

// Takes the tensors' bytes from `data`, over and over; false when they would be large.
bool fill(StoredByRole& stored, std::string_view data) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 16;
  size_t next = 0;
  for (auto& [role, tensor] : stored) {
    const auto size = byte_count(tensor.dtype, tensor.shape);
    if (!size.ok() || *size > kMostBytes) return false;
    tensor.bytes.resize(*size);
    for (auto& byte : tensor.bytes) {
      byte = data.empty() ? std::byte{0} : static_cast<std::byte>(data[next++ % data.size()]);
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), size);
  const auto json = Json::parse(input.substr(0, end));
  if (!json.ok()) return 0;
  const auto spec = spec_from_json(*json);
  if (!spec.ok()) return 0;
  const auto again = spec_from_json(to_json(*spec));
  TRILITH_CHECK(again.ok() && *again == *spec);
  TRILITH_CHECK(!describe(*spec).empty());
  if (size < end + 3) return 0;

  const int64_t rows = data[end + 1] % 40 + 1;
  const int64_t cols = data[end + 2] % 70 + 1;
  auto stored = stored_layout(*spec, rows, cols);
  if (!stored.ok() || !fill(*stored, input.substr(end + 3))) return 0;
  const auto matrix = decode(*spec, views_of(*stored), rows, cols, {.unused_as_zero = true});
  if (!matrix.ok()) return 0;
  TRILITH_CHECK(matrix->dense().size() == static_cast<size_t>(rows * cols));
  const auto written = encode(*spec, *matrix);
  TRILITH_CHECK(written.ok());
  const auto back = decode(*spec, views_of(*written), rows, cols, {.unused_as_zero = true});
  TRILITH_CHECK(back.ok() && back->codes == matrix->codes);
  return 0;
}
