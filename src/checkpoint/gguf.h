// GGUF v2 and v3, little-endian: magic, version, counts, key-values, tensor infos, then the data
// from the next multiple of general.alignment (github.com/ggml-org/ggml, docs/gguf.md). Dimensions
// are stored fastest first and given here slowest first, so a matrix is [N, K]. Nothing but the
// header is read. Arrays and tensors are views into the bytes parsed, which must outlive them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "checkpoint/ggml_types.h"

namespace trilith::checkpoint {

enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// An array value left where it lies (a vocabulary has 10^5 strings). Its bytes were checked when
// the file was parsed.
struct GgufArray {
  std::string key;
  GgufType type = GgufType::kU8;  // of the items; never kArray
  uint64_t count = 0;
  std::span<const std::byte> bytes;

  // The items, when they are of that kind (integers: also bool), else nothing.
  std::optional<std::vector<std::string_view>> strings() const;
  std::optional<std::vector<int64_t>> integers() const;
  std::optional<std::vector<double>> numbers() const;  // integers and floats
};

// Arrays of more items than this are in `arrays` only, not in `metadata`.
constexpr uint64_t kMaxMetadataArray = 256;

struct GgufContent {
  uint32_t version = 0;
  Json metadata;                  // key -> value, in the order of the file
  std::vector<GgufArray> arrays;  // every array that holds no arrays
  // In the order of the file. Ordinary numbers keep their dtype and shape. Block types are U8:
  // [..., N, bytes per row], or flat where a type has no rows, more than one reading remains that
  // disagree in size, or none does (then with the padding behind it).
  std::vector<TensorView> tensors;
  std::vector<GgmlClaim> claims;  // of tensors[i]
};

// Refuses: other versions and big-endian files, counts and lengths beyond the file, duplicate keys
// or names, unknown value types, arrays nested deeper than 4, misaligned or overlapping offsets,
// and tensors of ordinary numbers whose size does not fit. A block type that does not fit is no
// error here: its claim says why.
Result<GgufContent> parse_gguf(std::span<const std::byte> bytes, const std::string& file);

}  // namespace trilith::checkpoint
