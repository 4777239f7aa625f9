// TensorView: a named, typed, shaped window on bytes somebody else owns (usually a mapped file).
// Elements are little-endian, row-major and not necessarily aligned: read them through load<T>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace trilith {

using Shape = std::vector<int64_t>;

// "[64, 128]"
std::string shape_string(std::span<const int64_t> shape);
// Product of the dimensions; an error when one is negative or the product exceeds 2^62.
Result<uint64_t> element_count(std::span<const int64_t> shape);
// element_count * dtype_size, checked the same way.
Result<uint64_t> byte_count(DType dtype, std::span<const int64_t> shape);

// Element `index` of a little-endian array at `bytes`, whatever its alignment.
template <typename T>
T load(const std::byte* bytes, size_t index = 0) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

struct TensorView {
  std::string name;
  DType dtype = DType::kU8;
  Shape shape;
  std::span<const std::byte> bytes;  // exactly byte_count(dtype, shape)

  uint64_t count() const { return bytes.size() / dtype_size(dtype); }
  int64_t dim(size_t axis) const { return axis < shape.size() ? shape[axis] : 1; }
};

// Element `index` of any dtype as float (integers above 2^24 are rounded).
float element_as_float(const TensorView& tensor, uint64_t index);
double element_as_double(const TensorView& tensor, uint64_t index);
// The whole tensor as float32.
std::vector<float> to_floats(const TensorView& tensor);

}  // namespace trilith
