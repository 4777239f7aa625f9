#include "engine/rope_table.h"

#include "kernels/scalar_math.h"

namespace trilith::engine {

RopeTable::RopeTable(const model::RopeSpec& spec) : half_(spec.head_dim / 2) {
  for (int64_t i = 0; i < half_; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(spec.head_dim);
    frequencies_.push_back(kernels::pow_f64(spec.theta, exponent));
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
      cos_.push_back(static_cast<float>(kernels::cos_f64(angle)));
      sin_.push_back(static_cast<float>(kernels::sin_f64(angle)));
    }
  }
}

}  // namespace trilith::engine
