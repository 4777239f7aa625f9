// The arithmetic of evidence: how many nats a finding is worth. Every
// test of this room states its result as a log-likelihood difference in nats, so that findings of
// different tests add up and one threshold serves all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/splitmix.h"

namespace trilith::inspect {

// A reading counts as decided when it is e^kDecisive = 1000 times as likely as the next one.
constexpr double kDecisive = 6.907755278982137;

// Log-likelihood gained by allowing a correlation: -n/2 · ln(1 - rho²).
double correlation_nats(double rho, uint64_t n);
// Log-likelihood gained by letting the variance of n counts be `ratio` times the binomial one:
// n/2 · (ratio - 1 - ln ratio) for ratio > 1, else 0.
double overdispersion_nats(double ratio, uint64_t n);
// Log-likelihood lost by forcing two counts to be equal in expectation (binomial deviance / 2).
double unequal_nats(uint64_t a, uint64_t b);
double median(std::vector<double> values);

// A small deterministic generator for permutation tests: the same sheet on every machine.
class Shuffler {
 public:
  explicit Shuffler(uint64_t seed) : random_(seed) {}
  void shuffle(std::span<double> values);

 private:
  SplitMix64 random_;
};

}  // namespace trilith::inspect
