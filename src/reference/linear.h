// y = x Wᵀ + b in double, W widened exactly from codes and scales or from dense floats.
//
// Loops: k outside, outputs inside, one double accumulator an output, so every sum runs in
// ascending k whatever the vectoriser does and however many threads share the outputs.
//
// With quantised activations the sum runs over integers. Where the weights are integers times a
// scale that does not vary along k, it is an exact integer (below 2^53, checked) and is returned as
// the accumulator; y = acc * (weight scale / activation scale).
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/weights.h"
#include "reference/activation.h"
#include "reference/matrix.h"

namespace trilith::reference {

struct LinearOutput {
  Matrix value;                              // [T, N]
  std::optional<QuantisedActivation> input;  // what was multiplied, under a8 and a16
  std::vector<int64_t> accumulators;         // [T, N], or empty where there is no single one
};

// Dense weights take x as it is, in every mode. x.cols must be the weight's cols.
LinearOutput linear(const model::Linear& weights, const Matrix& x, Mode mode, ThreadPool& pool);
// The same from codes somebody else made; `weights` must be quantised.
LinearOutput linear_from_codes(const model::Linear& weights, QuantisedActivation input,
                               ThreadPool& pool);
// A dense matrix without bias (a tied head).
Matrix multiply(const model::DenseMatrix& weights, const Matrix& x, ThreadPool& pool);

}  // namespace trilith::reference
