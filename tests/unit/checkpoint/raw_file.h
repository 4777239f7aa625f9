// Safetensors files put together by hand, so that tests can break them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trilith::checkpoint {

// The length field, the header, and `data_bytes` bytes 0, 1, 2, …
inline std::string raw_file(std::string_view header, size_t data_bytes) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  file += header;
  for (size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i);
  return file;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace trilith::checkpoint
