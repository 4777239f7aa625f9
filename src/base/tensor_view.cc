#include "base/tensor_view.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/half.h"

namespace trilith {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 62;

// OCP 8-bit floats. E4M3 has no infinities (S.1111.111 is NaN); E5M2 follows IEEE; E8M0 is
// 2^(b-127).
double f8_e4m3(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  const double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, -9);
  return sign * std::ldexp(8 + mantissa, exponent - 10);
}

double f8_e8m0(uint8_t bits) {
  if (bits == 255) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, bits - 127);
}

}  // namespace

std::string shape_string(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<uint64_t> element_count(std::span<const int64_t> shape) {
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0)
      return Error::damaged("a dimension is negative").with_found(shape_string(shape));
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (count > kMaxElements / static_cast<uint64_t>(extent)) {
      return Error::damaged("the shape describes too many elements")
          .with_found(shape_string(shape));
    }
    count *= static_cast<uint64_t>(extent);
  }
  return empty ? 0 : count;
}

Result<uint64_t> byte_count(DType dtype, std::span<const int64_t> shape) {
  TRILITH_ASSIGN_OR_RETURN(const uint64_t count, element_count(shape));
  if (count > kMaxElements / dtype_size(dtype)) {
    return Error::damaged("the shape describes too many bytes").with_found(shape_string(shape));
  }
  return count * dtype_size(dtype);
}

double element_as_double(const TensorView& tensor, uint64_t index) {
  TRILITH_CHECK(index < tensor.count());
  const std::byte* data = tensor.bytes.data();
  switch (tensor.dtype) {
    case DType::kBool:
    case DType::kU8:
      return load<uint8_t>(data, index);
    case DType::kI8:
      return load<int8_t>(data, index);
    case DType::kU16:
      return load<uint16_t>(data, index);
    case DType::kI16:
      return load<int16_t>(data, index);
    case DType::kU32:
      return load<uint32_t>(data, index);
    case DType::kI32:
      return load<int32_t>(data, index);
    case DType::kU64:
      return static_cast<double>(load<uint64_t>(data, index));
    case DType::kI64:
      return static_cast<double>(load<int64_t>(data, index));
    case DType::kF8E4M3:
      return f8_e4m3(load<uint8_t>(data, index));
    case DType::kF8E5M2:  // the high byte of a float16
      return f32_from_f16(static_cast<uint16_t>(load<uint8_t>(data, index) << 8));
    case DType::kF8E8M0:
      return f8_e8m0(load<uint8_t>(data, index));
    case DType::kF16:
      return f32_from_f16(load<uint16_t>(data, index));
    case DType::kBF16:
      return f32_from_bf16(load<uint16_t>(data, index));
    case DType::kF32:
      return load<float>(data, index);
    case DType::kF64:
      return load<double>(data, index);
  }
  return 0;
}

float element_as_float(const TensorView& tensor, uint64_t index) {
  return static_cast<float>(element_as_double(tensor, index));
}

std::vector<float> to_floats(const TensorView& tensor) {
  std::vector<float> values(tensor.count());
  const std::byte* data = tensor.bytes.data();
  switch (tensor.dtype) {
    case DType::kF32:
      if (!values.empty()) std::memcpy(values.data(), data, tensor.bytes.size());
      break;
    case DType::kF16:
      for (size_t i = 0; i < values.size(); ++i) values[i] = f32_from_f16(load<uint16_t>(data, i));
      break;
    case DType::kBF16:
      for (size_t i = 0; i < values.size(); ++i) values[i] = f32_from_bf16(load<uint16_t>(data, i));
      break;
    default:
      for (size_t i = 0; i < values.size(); ++i) values[i] = element_as_float(tensor, i);
  }
  return values;
}

}  // namespace trilith
