#include "inspect/tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/byte_counts.h"
#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

constexpr uint64_t kSample = 4096;

bool counts_up(const TensorView& tensor) {
  if (!is_integer(tensor.dtype) || tensor.count() < 3) return false;
  const double first = element_as_double(tensor, 0);
  const double step = element_as_double(tensor, 1) - first;
  if (step == 0) return false;
  for (uint64_t i = 2; i < tensor.count(); ++i) {
    if (element_as_double(tensor, i) != first + step * static_cast<double>(i)) return false;
  }
  return true;
}

// Range and distinct values of any tensor, element by element.
void scan(const TensorView& tensor, TensorSummary& summary) {
  std::unordered_set<double> seen;
  bool any = false;
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    const double value = element_as_double(tensor, i);
    if (!std::isfinite(value)) {
      ++summary.nan;
      continue;
    }
    summary.min = any ? std::min(summary.min, value) : value;
    summary.max = any ? std::max(summary.max, value) : value;
    any = true;
    if (seen.size() <= kDistinctLimit) seen.insert(value);
  }
  summary.distinct = seen.size();
}

// The same of bytes, from how often each occurs.
void scan_bytes(const TensorView& tensor, TensorSummary& summary) {
  bool any = false;
  for (size_t byte = 0; byte < summary.bytes.size(); ++byte) {
    if (summary.bytes[byte] == 0) continue;
    const double value =
        tensor.dtype == DType::kI8 ? static_cast<int8_t>(byte) : static_cast<double>(byte);
    summary.min = any ? std::min(summary.min, value) : value;
    summary.max = any ? std::max(summary.max, value) : value;
    any = true;
    ++summary.distinct;
  }
}

// Distinct values until there are too many to count; false: the whole tensor has few.
bool has_many_values(const TensorView& tensor) {
  std::unordered_set<double> seen;
  double last = std::numeric_limits<double>::quiet_NaN();
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    const double value = element_as_double(tensor, i);
    if (!std::isfinite(value)) return false;
    if (value == last) continue;
    last = value;
    seen.insert(value);
    if (seen.size() > kDistinctLimit) return true;
  }
  return false;
}

// Bits of a float as an integer that is ordered like the float, and whether it is finite.
template <typename Bits>
struct FloatForm {
  Bits exponent;  // all ones: not finite
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  Bits key(Bits bits) const {
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  }
  Bits bits(Bits key) const { return static_cast<Bits>((key & kSign) != 0 ? key ^ kSign : ~key); }
};

// Least and greatest of floats as they are stored; false when one is not finite. Vectorises.
template <typename Bits>
bool range_of_floats(const TensorView& tensor, Bits exponent, TensorSummary& summary) {
  const FloatForm<Bits> form{exponent};
  Bits low = std::numeric_limits<Bits>::max();
  Bits high = 0;
  bool finite = true;
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    const auto bits = load<Bits>(tensor.bytes.data(), i);
    const Bits key = form.key(bits);
    low = std::min(low, key);
    high = std::max(high, key);
    finite &= (bits & exponent) != exponent;
  }
  if (!finite) return false;
  const auto value_of = [&](Bits key) {
    const Bits bits = form.bits(key);
    TensorView one = {"", tensor.dtype, {1}, std::as_bytes(std::span(&bits, 1))};
    return element_as_double(one, 0);
  };
  summary.min = value_of(low);
  summary.max = value_of(high);
  return true;
}

template <typename T>
bool range_of_integers(const TensorView& tensor, TensorSummary& summary) {
  T low = std::numeric_limits<T>::max();
  T high = std::numeric_limits<T>::lowest();
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    const T value = load<T>(tensor.bytes.data(), i);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  summary.min = static_cast<double>(low);
  summary.max = static_cast<double>(high);
  return true;
}

// Sets the range, of tensors that are large and common; false: not one of these, or not finite.
bool range_of(const TensorView& tensor, TensorSummary& summary) {
  switch (tensor.dtype) {
    case DType::kBF16:
      return range_of_floats<uint16_t>(tensor, 0x7f80, summary);
    case DType::kF16:
      return range_of_floats<uint16_t>(tensor, 0x7c00, summary);
    case DType::kF32:
      return range_of_floats<uint32_t>(tensor, 0x7f800000, summary);
    case DType::kU16:
      return range_of_integers<uint16_t>(tensor, summary);
    case DType::kI16:
      return range_of_integers<int16_t>(tensor, summary);
    case DType::kU32:
      return range_of_integers<uint32_t>(tensor, summary);
    case DType::kI32:
      return range_of_integers<int32_t>(tensor, summary);
    default:
      return false;
  }
}

}  // namespace

TensorSummary summarise(const TensorView& tensor) {
  TensorSummary summary;
  const uint64_t count = tensor.count();
  if (is_integer(tensor.dtype)) {
    add_byte_counts(tensor.bytes, summary.bytes);
    summary.byte_count = tensor.bytes.size();
    summary.counting = counts_up(tensor);
  }
  if (tensor.dtype == DType::kU8 || tensor.dtype == DType::kI8) {
    scan_bytes(tensor, summary);
  } else if (has_many_values(tensor) && range_of(tensor, summary)) {
    summary.distinct = kDistinctLimit + 1;
  } else {
    scan(tensor, summary);
  }
  std::vector<double> sample;
  const uint64_t step = std::max<uint64_t>(1, count / kSample);
  for (uint64_t i = 0; i < count; i += step) {
    sample.push_back(std::abs(element_as_double(tensor, i)));
  }
  std::erase_if(sample, [](double value) { return !std::isfinite(value); });
  summary.median_magnitude = median(std::move(sample));
  return summary;
}

}  // namespace trilith::inspect
