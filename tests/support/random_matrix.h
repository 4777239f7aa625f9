// Random numbers that are the same on every machine, and random low-bit matrices of any
// PackingSpec, for tests that need weights of a wanted size.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "packing/quant_matrix.h"
#include "packing/spec.h"

namespace trilith::support {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // A stream of its own for every name, so that one part does not move when another changes.
  Random(uint64_t seed, const std::string& name);

  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(uniform() * static_cast<double>(bound));
  }
  // Mean 0, deviation 1 (the sum of twelve uniforms: no libm, so no difference between machines).
  double normal();
  // Mean of squares 1, always positive: how scales and norm gains vary between rows.
  double positive(double spread);

 private:
  std::mt19937_64 engine_;
};

// Whether random_matrix can make one. Kernel tiles want larger matrices, products of two stored
// numbers cannot be written, and scales of eight bits take few of the random numbers.
bool has_random_matrices(const packing::PackingSpec& spec);

// W[rows, cols] in codes that `spec` can store, with root mean square close to `rms`; scales differ
// between rows, groups or columns as far as the spec has them. About 35 % of ternary codes are 0.
packing::QuantMatrix random_matrix(const packing::PackingSpec& spec, int64_t rows, int64_t cols,
                                   double rms, Random& random);

}  // namespace trilith::support
