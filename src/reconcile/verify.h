// verify: holds a target (a live engine, or a trace of anything) against a baseline trace, in three
// comparisons that fail for different reasons:
//
//   weights         the baseline's outputs, recomputed from the baseline's inputs with this model's
//                   decoded weights: wrong codes, scales, layouts, configuration
//   implementation  the target's outputs, recomputed from the target's own inputs: wrong kernels,
//                   with the weights untouched
//   free-running    target against baseline at every point: what a user of the model would see
//
// Each difference is judged against rounding measured on the same values (noise.h), never against a
// chosen tolerance; the classic rtol/atol verdict is reported beside it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/weights.h"
#include "reconcile/ledger.h"
#include "reconcile/prompt_values.h"
#include "reconcile/trace_file.h"
#include "reference/activation.h"

namespace trilith::reconcile {

// Produces the target's values for a prompt.
using TargetRun =
    std::function<Result<PromptValues>(int64_t prompt, const std::vector<int32_t>& ids)>;

struct VerifyOptions {
  reference::Mode target_mode = reference::Mode::kA16;
  Json build;  // of the target, for the ledger
  ClassicTolerance classic;
  int threads = 0;
};

// Errors only for what cannot be run at all; every difference, other shapes and ids included, is in
// the ledger.
Result<Ledger> verify(const model::Weights& weights, const TraceFile& baseline,
                      const TargetRun& target, const VerifyOptions& options);

// A target that is itself a trace, which must outlive the function.
TargetRun trace_target(const TraceFile& trace);

}  // namespace trilith::reconcile
