// One small ModelSpec for everything that an architecture's description can say, and weights for
// any of them in memory, for tests that walk all architectures.
#pragma once

#include <string>
#include <vector>

#include "model/weights.h"

namespace trilith::support {

struct NamedSpec {
  std::string name;
  model::ModelSpec spec;
};

// Three layers of 40 channels; windows of a few keys; scaled RoPE over 16 positions.
std::vector<NamedSpec> architectures();

enum class LinearKind { kDense, kTernary };  // float32; levels −1, 0, +1 with a scale a row

// Linears of a standard deviation of about 1.5/√K (the head and the embedding stay dense), gains
// about 1, biases that matter.
model::Weights random_weights(const model::ModelSpec& spec, LinearKind kind, uint64_t seed);

}  // namespace trilith::support
