// Element types of stored tensors, under the names safetensors gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trilith {

enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF16,
  kBF16,
  kF32,
  kF64,
};

// Bytes of one element; never 0.
size_t dtype_size(DType dtype);
// "U8", "BF16", …
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
bool is_float(DType dtype);
bool is_integer(DType dtype);

}  // namespace trilith
