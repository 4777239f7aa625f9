#include "inspect/scale_direction.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

// ln of the gain is taken as normal around 0 with this deviation: twenty times is two deviations.
constexpr double kGainSpread = 1.5;

// Nats against scales that are all negative.
constexpr double kNegative = kDecisive;

}  // namespace

double gain_nats(double gain) {
  const double distance = std::log(gain) / kGainSpread;
  return -0.5 * distance * distance;
}

ScaleDirection judge_direction(std::span<const float> scales, double mean_square_level,
                               double cols) {
  std::vector<double> magnitudes(scales.begin(), scales.end());
  for (double& value : magnitudes) value = std::abs(value);
  const double typical = median(std::move(magnitudes));
  ScaleDirection direction;
  if (!(typical > 0) || !(mean_square_level > 0)) return direction;
  const double codes = std::sqrt(mean_square_level * cols);
  direction.gain_multiply = codes * typical;
  direction.gain_divide = codes / typical;
  const bool negative = scales.front() < 0;
  direction.gain_power = codes * std::exp2(negative ? -typical : typical);
  direction.nats_multiply = gain_nats(direction.gain_multiply) - (negative ? kNegative : 0);
  direction.nats_divide = gain_nats(direction.gain_divide) - (negative ? kNegative : 0);
  direction.nats_power = gain_nats(direction.gain_power) - (negative ? 0 : kNegative);
  return direction;
}

bool can_be_scales(std::span<const float> values) {
  if (values.empty()) return false;
  const bool positive = values.front() > 0;
  return std::all_of(values.begin(), values.end(), [positive](float value) {
    return std::isfinite(value) && value != 0 && (value > 0) == positive;
  });
}

}  // namespace trilith::inspect
