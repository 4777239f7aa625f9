// How large a difference rounding alone explains, measured, not chosen: the reference is evaluated
// again on inputs moved by one unit of roundoff, and the outputs' movement is the floor. A real
// fault is then a multiple of it, whatever the size of the numbers or the conditioning of the
// operation.
//
// Ratios are taken over the whole matrix, over each token and over each channel (a single wrong
// weight shows in one channel only) and the largest counts. A channel's or token's floor is at
// least the average one, so that an accidentally quiet one does not cry wolf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/matrix.h"

namespace trilith::reconcile {

// Unit roundoff (half the spacing at 1) of the narrowest of bfloat16, float16 and float32 that
// holds every value exactly.
double unit_roundoff(std::span<const float> values);

// Each value times (1 ± unit), the signs a fixed function of the position and `salt`.
reference::Matrix jittered(const reference::Matrix& values, double unit, uint64_t salt);

// `error` and `floor` are [rows, cols]; returns the largest ratio of root-mean-squares. Where the
// floor is zero throughout, any error is infinitely many floors.
double floor_ratio(const reference::Matrix& error, const reference::Matrix& floor);

}  // namespace trilith::reconcile
