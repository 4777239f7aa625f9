// Small matrices and tensors for the packing tests.
#pragma once

#include <string>
#include <vector>

#include "packing/codec.h"

namespace trilith::packing::testing {

// Bytes that outlive the views on them.
struct Tensors {
  StoredByRole stored;
  TensorsByRole views() const {
    TensorsByRole views;
    for (const auto& [role, tensor] : stored) {
      views[role] = TensorView{role, tensor.dtype, tensor.shape, tensor.bytes};
    }
    return views;
  }
};

template <typename T>
StoredTensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  StoredTensor tensor{dtype, std::move(shape), {}};
  const auto bytes = std::as_bytes(std::span(values));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    if (!text.empty()) text += ' ';
    text += kDigits[static_cast<size_t>(byte >> 4)];
    text += kDigits[static_cast<size_t>(byte & std::byte{15})];
  }
  return text;
}

// A matrix of these levels, coded by `spec`, with scales and zero points of 1 and 0.
inline QuantMatrix matrix_of(const PackingSpec& spec, int64_t rows, int64_t cols,
                             const std::vector<int>& levels) {
  QuantMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.bits = spec.bits;
  matrix.levels = levels_of(spec);
  matrix.scale = spec.scale;
  matrix.zero = spec.zero;
  for (const int level : levels) {
    for (size_t code = 0; code < matrix.levels.size(); ++code) {
      if (matrix.levels[code] == static_cast<double>(level)) {
        matrix.codes.push_back(static_cast<uint8_t>(code));
        break;
      }
    }
  }
  return matrix;
}

}  // namespace trilith::packing::testing
