// Whether scales multiply or divide. Trained matrices keep the size of what passes through them, so
// the root mean square of W times sqrt(K) lies within a factor of twenty of one; of two readings, s
// and 1/s, the nearer one to that is the likelier, and near s = 1 nothing is decided. Stored
// numbers that are all negative are rather exponents of two than scales that turn every sign
// around.
#pragma once

#include <span>

namespace trilith::inspect {

// The factor of scales that state the largest magnitude of int8 codes: 127 is its code.
constexpr double kAbsmax = 1.0 / 127;

struct ScaleDirection {
  double gain_multiply = 0;  // rms(W) · sqrt(K) when scales multiply
  double gain_divide = 0;
  double gain_power = 0;  // when the scale is two to the power of what is stored
  double nats_multiply = 0;
  double nats_divide = 0;
  double nats_power = 0;
};

// Nats of a gain on the prior above: what a constant factor on every scale changes.
double gain_nats(double gain);

// `scales` as stored; `mean_square_level`: mean of level² over the matrix.
ScaleDirection judge_direction(std::span<const float> scales, double mean_square_level,
                               double cols);

// Whether values can be scales at all: finite, none zero, all of one sign.
bool can_be_scales(std::span<const float> values);

}  // namespace trilith::inspect
