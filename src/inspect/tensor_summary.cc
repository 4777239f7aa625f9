#include "inspect/tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

constexpr uint64_t kSample = 4096;

void count_bytes(const TensorView& tensor, TensorSummary& summary) {
  for (const std::byte byte : tensor.bytes) ++summary.bytes[static_cast<uint8_t>(byte)];
  summary.byte_count = tensor.bytes.size();
}

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

}  // namespace

TensorSummary summarise(const TensorView& tensor) {
  TensorSummary summary;
  const uint64_t count = tensor.count();
  std::unordered_set<double> seen;
  bool any = false;
  for (uint64_t i = 0; i < count; ++i) {
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
  std::vector<double> sample;
  const uint64_t step = std::max<uint64_t>(1, count / kSample);
  for (uint64_t i = 0; i < count; i += step) {
    sample.push_back(std::abs(element_as_double(tensor, i)));
  }
  std::erase_if(sample, [](double value) { return !std::isfinite(value); });
  summary.median_magnitude = median(std::move(sample));
  if (is_integer(tensor.dtype)) {
    count_bytes(tensor, summary);
    summary.counting = counts_up(tensor);
  }
  return summary;
}

}  // namespace trilith::inspect
