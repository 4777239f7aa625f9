// TensorSummary: what one pass over a stored tensor's elements tells, before any reading of them.
// A plain value; costs one pass.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/tensor_view.h"

namespace trilith::inspect {

struct TensorSummary {
  double min = 0;
  double max = 0;
  double median_magnitude = 0;        // of a sample of at most 4096 elements
  uint64_t distinct = 0;              // counted up to kDistinctLimit, then kDistinctLimit + 1
  uint64_t nan = 0;                   // NaN and infinities
  bool counting = false;              // integers that go up by a constant step (position ids)
  std::array<uint64_t, 256> bytes{};  // how often each byte occurs, for integer dtypes
  uint64_t byte_count = 0;
};
constexpr uint64_t kDistinctLimit = 256;

TensorSummary summarise(const TensorView& tensor);

}  // namespace trilith::inspect
