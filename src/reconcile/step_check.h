// Step by step, fed with what was recorded: every operation of the forward pass is recomputed by
// the reference from the recorded inputs and held against the recorded output, so each independent
// fault shows at its own step and nowhere else.
//
// A recorded output is taken over as the input of later steps (teacher forcing). A point that was
// not recorded is filled in by the reference, so a sparse trace is checked in longer strides: the
// step named is then the last of the stride.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "reconcile/metrics.h"
#include "reconcile/prompt_values.h"
#include "reference/reference.h"

namespace trilith::reconcile {

// Integers of a linear under quantised activations.
struct IntegerCheck {
  bool compared = false;
  int64_t ties = 0;         // activation codes on the other side of a rounding tie: allowed
  int64_t wrong_codes = 0;  // activation codes that no rounding explains
  int64_t wrong_sums = 0;   // accumulators that differ from Σ code · level
  bool equal() const { return wrong_codes == 0 && wrong_sums == 0; }
};

struct StepCheck {
  const reference::Step* step = nullptr;
  Difference difference;  // recorded (target) against recomputed (reference)
  double ratio = 0;       // to the floor of rounding at this step (noise.h)
  IntegerCheck integers;
};

// Checks every step whose output was recorded and whose inputs are known, in execution order.
// `minimum_unit`: roundoff of the arithmetic that made the record, if coarser than its values show.
Result<std::vector<StepCheck>> check_steps(const reference::Reference& reference,
                                           const PromptValues& recorded, double minimum_unit = 0);

// The whole forward pass with every value rounded to float32 between steps: the reference in the
// precision of a float32 engine. All points, all rows.
Result<PromptValues> rounded_run(const reference::Reference& reference,
                                 const std::vector<int32_t>& ids);

}  // namespace trilith::reconcile
