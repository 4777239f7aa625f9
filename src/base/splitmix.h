// SplitMix64 (Steele, Lea, Flood 2014): a small generator, and the bijection on 64 bits it is made
// of. The same numbers on every machine; fingerprints, the rows of a sampled trace and the signs
// of the noise floor are made with it, so its values are part of files. Not cryptographic.
#pragma once

#include <cstdint>

namespace trilith {

// The step of the state: 2⁶⁴ divided by the golden ratio.
constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15ULL;

// Spreads every bit of x over the result.
constexpr uint64_t splitmix_finalise(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t seed) : state_(seed) {}
  constexpr uint64_t next() { return splitmix_finalise(state_ += kSplitMixStep); }
  // Uniform below `bound`, up to a bias of bound / 2⁶⁴.
  constexpr uint64_t below(uint64_t bound) { return next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace trilith
