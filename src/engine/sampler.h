// Sampling one token from logits. Random numbers come from a counter (seed, position), so a token
// depends on them and the logits alone, never on what was drawn before or beside it.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace trilith::engine {

struct Sampling {
  double temperature = 0.0;  // 0: greedy, the smallest id among equals
  int64_t top_k = 0;         // keep the k likeliest; 0: all
  double top_p = 1.0;        // then the fewest likeliest that reach p together
  uint64_t seed = 0;
};

struct Sample {
  int32_t id = 0;
  double logprob = 0.0;  // ln of the model's own probability, before temperature and cuts
};

// Refuses settings out of range.
Status check_sampling(const Sampling& sampling);
// `position` is that of the new token. Refuses logits that are not finite.
Result<Sample> sample(std::span<const float> logits, const Sampling& sampling, uint64_t position);

// Philox 4x32-10 (Salmon et al. 2011) of counter `position` under key `seed`: uniform in [0, 1).
double uniform(uint64_t seed, uint64_t position);

}  // namespace trilith::engine
