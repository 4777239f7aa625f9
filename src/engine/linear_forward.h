// y = x · Wᵀ (+ b) for a batch of tokens, on panels or dense rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/activations.h"
#include "engine/fault.h"
#include "engine/parallel.h"
#include "engine/prepared_linear.h"

namespace trilith::engine {

struct LinearInput {
  const float* x;                // [tokens, cols]
  const ActivationCodes* codes;  // of the same; needed when the linear takes_codes
  int64_t tokens;
};

// out is [tokens, rows]. `accumulators`, when not null, receives the integer dots [tokens, rows] of
// a linear on panels, and is left empty where there are none or one does not fit 32 bits.
void forward_linear(const Worker& worker, const PreparedLinear& linear, const LinearInput& input,
                    const EngineFault& fault, float* out, std::vector<int32_t>* accumulators);

}  // namespace trilith::engine
