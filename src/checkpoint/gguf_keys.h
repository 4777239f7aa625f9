// The key-value part of a GGUF header.
#pragma once

#include "base/byte_reader.h"
#include "checkpoint/gguf.h"

namespace trilith::checkpoint {

struct GgufKeys {
  Json metadata;
  std::vector<GgufArray> arrays;
  uint64_t alignment = 32;
};

// `count` key-values from where `reader` stands.
Result<GgufKeys> read_gguf_keys(ByteReader& reader, uint64_t count);

// A length and that many bytes.
Result<std::string_view> read_gguf_string(ByteReader& reader, uint64_t max_bytes);

}  // namespace trilith::checkpoint
