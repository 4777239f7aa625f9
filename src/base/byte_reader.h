// ByteReader: a cursor over untrusted bytes. Every read is checked against the end; an error names
// the offset. Integers are little-endian. Does not own the bytes; copyable; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace trilith {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }

  Result<uint8_t> read_u8();
  Result<uint16_t> read_u16();
  Result<uint32_t> read_u32();
  Result<uint64_t> read_u64();
  Result<float> read_f32();
  Result<double> read_f64();
  // `count` bytes as a view into the buffer.
  Result<std::span<const std::byte>> read_bytes(uint64_t count);
  Result<std::string_view> read_string(uint64_t count);
  Status skip(uint64_t count);
  Status seek(uint64_t offset);

 private:
  template <typename T>
  Result<T> read_number();

  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
};

}  // namespace trilith
