// The tensor types of GGUF files as sizes: how many bytes a type takes for a shape. What the bytes
// mean is `packing`'s matter. Ids are not unique: forks of ggml use the same numbers for other
// types, so a reading of an id is believed only when its size fits the file (GGUF stores no sizes).
// Source of ids and sizes: ggml.h and ggml-common.h of ggml-org/ggml, ikawrakow/ik_llama.cpp,
// microsoft/BitNet's llama.cpp, PrismML-Eng/llama.cpp, and pull requests of llama.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/tensor_view.h"

namespace trilith::checkpoint {

// A row of K elements is `row_bytes` (a scale, in some types) and K / block blocks.
struct GgmlType {
  uint32_t id = 0;
  std::string_view name;    // "Q4_K", as its project writes it but for two that collide
  std::string_view family;  // the project that uses the id so: "ggml", "bitnet.cpp", …
  uint32_t block = 1;       // elements of a block, along K
  uint32_t block_bytes = 0;
  uint32_t row_bytes = 0;           // before the blocks of every row
  uint32_t tail_bytes = 0;          // behind the last row, once a tensor
  std::optional<DType> plain = {};  // for ordinary numbers

  // Whether rows lie one after the other at one distance, so that a view [N, bytes] exists.
  bool has_rows() const { return tail_bytes == 0; }
};

// Every known reading of every id, upstream's first among those of one id.
std::span<const GgmlType> ggml_types();

// Bytes of a tensor whose shape is given slowest dimension first ([N, K]); nothing when K is no
// multiple of the block or the size overflows.
std::optional<uint64_t> ggml_bytes(const GgmlType& type, std::span<const int64_t> shape);
// Bytes of one row, for types that have rows; nothing when K is no multiple of the block.
std::optional<uint64_t> ggml_row_bytes(const GgmlType& type, uint64_t k);

// What a GGUF file says about one tensor.
struct GgmlClaim {
  uint32_t id = 0;
  Shape shape;  // of the logical tensor, slowest dimension first: [N, K]
  // The readings of the id whose size fits the room the tensor has, and that of every other tensor
  // of this id in the file. Several when the sizes agree for all of them (then the bytes decide).
  std::vector<const GgmlType*> types;
  std::string problem;  // why `types` is empty

  // The one reading there is, or null.
  const GgmlType* type() const { return types.size() == 1 ? types.front() : nullptr; }
};

}  // namespace trilith::checkpoint
