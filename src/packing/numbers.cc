#include "packing/numbers.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "base/tensor_view.h"

namespace trilith::packing {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
bool store_exactly(double value, std::byte* target) {
  // Outside the range the conversion itself would be undefined.
  if (!(value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
        value < std::ldexp(1.0, std::numeric_limits<T>::digits))) {
    return false;
  }
  const auto stored = static_cast<T>(value);
  if (static_cast<double>(stored) != value) return false;
  std::memcpy(target, &stored, sizeof(T));
  return true;
}

// Types of one byte: the code whose value it is.
bool store_small_float(DType dtype, double value, std::byte* target) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::byte>(code);
    const TensorView view{"", dtype, {1}, {&byte, 1}};
    const double candidate = element_as_double(view, 0);
    if (candidate == value && std::signbit(candidate) == std::signbit(value)) {
      *target = byte;
      return true;
    }
  }
  return false;
}

bool store_half(uint16_t bits, float back, double value, std::byte* target) {
  if (static_cast<double>(back) != value) return false;
  std::memcpy(target, &bits, sizeof bits);
  return true;
}

bool store(DType dtype, double value, std::byte* target) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kF16: {
      const uint16_t bits = f16_from_f32(narrow);
      return store_half(bits, f32_from_f16(bits), value, target);
    }
    case DType::kBF16: {
      const uint16_t bits = bf16_from_f32(narrow);
      return store_half(bits, f32_from_bf16(bits), value, target);
    }
    case DType::kF32:
      std::memcpy(target, &narrow, sizeof narrow);
      return static_cast<double>(narrow) == value;
    case DType::kF64:
      std::memcpy(target, &value, sizeof value);
      return true;
    case DType::kU8:
      return store_exactly<uint8_t>(value, target);
    case DType::kI8:
      return store_exactly<int8_t>(value, target);
    case DType::kU16:
      return store_exactly<uint16_t>(value, target);
    case DType::kI16:
      return store_exactly<int16_t>(value, target);
    case DType::kU32:
      return store_exactly<uint32_t>(value, target);
    case DType::kI32:
      return store_exactly<int32_t>(value, target);
    case DType::kU64:
      return store_exactly<uint64_t>(value, target);
    case DType::kI64:
      return store_exactly<int64_t>(value, target);
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E8M0:
      return store_small_float(dtype, value, target);
    case DType::kBool:
      return false;
  }
  return false;
}

}  // namespace

Result<std::vector<float>> exact_floats(const TensorView& tensor) {
  std::vector<float> values = to_floats(tensor);
  const bool always_exact = dtype_size(tensor.dtype) <= 2 || tensor.dtype == DType::kF32;
  for (size_t i = 0; !always_exact && i < values.size(); ++i) {
    const double value = element_as_double(tensor, i);
    if (static_cast<double>(values[i]) == value || std::isnan(value)) continue;
    return Error::damaged("a number does not fit float32 exactly")
        .with_tensor(tensor.name)
        .with_found(fmt::format("{} at index {}", value, i));
  }
  return values;
}

Status store_number(DType dtype, double value, std::byte* target) {
  if (!std::isfinite(value) || !store(dtype, value, target)) {
    return Error::usage(
        fmt::format("{} is not exactly representable as {}", value, dtype_name(dtype)));
  }
  return {};
}

double exp2_portable(double x) {
  if (std::isnan(x)) return x;
  if (x > 1100) return std::numeric_limits<double>::infinity();
  if (x < -1200) return 0;
  const double whole = std::nearbyint(x);
  // The Taylor series of e^(r ln 2): |r ln 2| < 0.35, so 18 terms reach the last bit.
  const double r = (x - whole) * 0.69314718055994530942;
  double sum = 1;
  for (int term = 18; term >= 1; --term) sum = 1 + sum * r / term;
  return std::ldexp(sum, static_cast<int>(whole));
}

}  // namespace trilith::packing
