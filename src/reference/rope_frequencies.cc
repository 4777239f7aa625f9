#include "reference/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trilith::reference {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

// A frequency below low_freq_factor turns over the original length is divided by factor, one above
// high_freq_factor turns is kept; between them the two are mixed in proportion.
double llama3(double frequency, const model::RopeSpec& spec) {
  const double turns = frequency * spec.original_positions / kTurn;
  const double kept = std::clamp(
      (turns - spec.low_freq_factor) / (spec.high_freq_factor - spec.low_freq_factor), 0.0, 1.0);
  return kept * frequency + (1.0 - kept) * frequency / spec.factor;
}

// The pair whose frequency makes that many turns over the original length.
double pair_of_turns(double turns, const model::RopeSpec& spec) {
  return static_cast<double>(spec.head_dim) * std::log(spec.original_positions / (turns * kTurn)) /
         (2.0 * std::log(spec.theta));
}

struct Ramp {
  double begin;
  double end;
};

Ramp yarn_ramp(const model::RopeSpec& spec) {
  double begin = pair_of_turns(spec.beta_fast, spec);
  double end = pair_of_turns(spec.beta_slow, spec);
  if (spec.truncate) {
    begin = std::floor(begin);
    end = std::ceil(end);
  }
  begin = std::max(begin, 0.0);
  end = std::min(end, static_cast<double>(spec.head_dim - 1));
  if (begin == end) end += 0.001;  // as transformers does, so that the ramp has a slope
  return {begin, end};
}

double yarn(double frequency, int64_t pair, const Ramp& ramp, const model::RopeSpec& spec) {
  const double stretched =
      std::clamp((static_cast<double>(pair) - ramp.begin) / (ramp.end - ramp.begin), 0.0, 1.0);
  return (1.0 - stretched) * frequency + stretched * frequency / spec.factor;
}

}  // namespace

std::vector<double> rope_frequencies(const model::RopeSpec& spec) {
  std::vector<double> frequencies;
  const Ramp ramp = spec.scaling == model::RopeScaling::kYarn ? yarn_ramp(spec) : Ramp{};
  for (int64_t i = 0; i < spec.head_dim / 2; ++i) {
    const double plain =
        std::pow(spec.theta, -2.0 * static_cast<double>(i) / static_cast<double>(spec.head_dim));
    switch (spec.scaling) {
      case model::RopeScaling::kNone:
        frequencies.push_back(plain);
        break;
      case model::RopeScaling::kLinear:
        frequencies.push_back(plain / spec.factor);
        break;
      case model::RopeScaling::kLlama3:
        frequencies.push_back(llama3(plain, spec));
        break;
      case model::RopeScaling::kYarn:
        frequencies.push_back(yarn(plain, i, ramp, spec));
        break;
    }
  }
  return frequencies;
}

}  // namespace trilith::reference
