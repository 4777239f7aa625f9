#include "engine/rope_table.h"

#include <cmath>

#include "base/check.h"
#include "kernels/scalar_math.h"

namespace trilith::engine {

namespace {

using model::RopeScaling;
using model::RopeSpec;

constexpr double kPi = 0x1.921fb54442d18p+1;

double between_0_and_1(double value) { return value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value; }

// How far a pair's angle is stretched: 0 as in plain RoPE, 1 by the whole factor.
class Stretch {
 public:
  explicit Stretch(const RopeSpec& spec) : spec_(spec) {
    if (spec.scaling != RopeScaling::kYarn) return;
    begin_ = pair_with(spec.beta_fast);
    end_ = pair_with(spec.beta_slow);
    if (spec.truncate) {
      begin_ = std::floor(begin_);
      end_ = std::ceil(end_);
    }
    const auto last = static_cast<double>(spec.head_dim - 1);
    if (begin_ < 0.0) begin_ = 0.0;
    if (end_ > last) end_ = last;
    if (begin_ == end_) end_ += 0.001;  // transformers' way to give the ramp a slope
  }

  double of(int64_t pair, double frequency) const {
    switch (spec_.scaling) {
      case RopeScaling::kNone:
        return 0.0;
      case RopeScaling::kLinear:
        return 1.0;
      case RopeScaling::kLlama3: {
        const double turns = spec_.original_positions * frequency / (2.0 * kPi);
        return between_0_and_1((spec_.high_freq_factor - turns) /
                               (spec_.high_freq_factor - spec_.low_freq_factor));
      }
      case RopeScaling::kYarn:
        return between_0_and_1((static_cast<double>(pair) - begin_) / (end_ - begin_));
    }
    TRILITH_CHECK(false);
  }

 private:
  // The (fractional) pair that makes `turns` turns over the original length.
  double pair_with(double turns) const {
    return 0.5 * static_cast<double>(spec_.head_dim) *
           kernels::log_f64(spec_.original_positions / (2.0 * kPi * turns)) /
           kernels::log_f64(spec_.theta);
  }

  RopeSpec spec_;
  double begin_ = 0.0;
  double end_ = 0.0;
};

}  // namespace

RopeTable::RopeTable(const model::RopeSpec& spec)
    : half_(spec.head_dim / 2), factor_(spec.attention_factor) {
  const Stretch stretch(spec);
  for (int64_t i = 0; i < half_; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(spec.head_dim);
    const double plain = kernels::pow_f64(spec.theta, exponent);
    const double part = stretch.of(i, plain);
    frequencies_.push_back(part == 0.0 ? plain : plain * (1.0 - part) + plain / spec.factor * part);
  }
}

void RopeTable::grow(int64_t positions) {
  const auto wanted = static_cast<size_t>(positions * half_);
  if (wanted <= cos_.size()) return;
  const int64_t first = half_ == 0 ? 0 : static_cast<int64_t>(cos_.size()) / half_;
  cos_.reserve(wanted);
  sin_.reserve(wanted);
  for (int64_t position = first; position < positions; ++position) {
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(position) * frequency;
      cos_.push_back(static_cast<float>(factor_ * kernels::cos_f64(angle)));
      sin_.push_back(static_cast<float>(factor_ * kernels::sin_f64(angle)));
    }
  }
}

}  // namespace trilith::engine
