// RopeTable: cos and sin of position · theta^(−2i/d), or of the angles of a scaled RoPE
// (model/model_spec.h), computed in double by this project's own functions and rounded once to
// float. Formulas of the scaled kinds are those of transformers' modeling_rope_utils. Grows on
// demand; reading is thread-safe, growing is not.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_spec.h"

namespace trilith::engine {

class RopeTable {
 public:
  RopeTable() = default;
  explicit RopeTable(const model::RopeSpec& spec);

  // Covers positions below `positions` from now on.
  void grow(int64_t positions);
  const float* cos(int64_t position) const { return cos_.data() + position * half_; }
  const float* sin(int64_t position) const { return sin_.data() + position * half_; }

 private:
  int64_t half_ = 0;
  std::vector<double> frequencies_;
  double factor_ = 1.0;  // of cos and sin
  std::vector<float> cos_;
  std::vector<float> sin_;
};

}  // namespace trilith::engine
