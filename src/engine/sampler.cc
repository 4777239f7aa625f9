#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/scalar_math.h"

namespace trilith::engine {
namespace {

struct Candidate {
  int32_t id;
  float logit;
};

bool likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

double log_sum_exp(std::span<const float> logits, float largest) {
  double sum = 0;
  for (const float logit : logits) {
    sum += kernels::exp_f64(static_cast<double>(logit) - static_cast<double>(largest));
  }
  return static_cast<double>(largest) + kernels::log_f64(sum);
}

// Sorted, cut to top_k and top_p, with their cumulative weights.
int32_t draw(std::span<const float> logits, const Sampling& sampling, float largest,
             uint64_t position) {
  std::vector<Candidate> candidates(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates[i] = {static_cast<int32_t>(i), logits[i]};
  }
  const auto all = static_cast<int64_t>(candidates.size());
  const int64_t kept = sampling.top_k > 0 ? std::min(sampling.top_k, all) : all;
  std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(), likelier);
  candidates.resize(static_cast<size_t>(kept));
  std::vector<double> cumulative(candidates.size());
  double total = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double above = static_cast<double>(candidates[i].logit) - static_cast<double>(largest);
    total += kernels::exp_f64(above / sampling.temperature);
    cumulative[i] = total;
  }
  const auto nucleus =
      std::lower_bound(cumulative.begin(), cumulative.end(), sampling.top_p * total);
  if (nucleus != cumulative.end()) cumulative.erase(nucleus + 1, cumulative.end());
  const double target = uniform(sampling.seed, position) * cumulative.back();
  const auto chosen = std::upper_bound(cumulative.begin(), cumulative.end(), target);
  const auto index =
      std::min<int64_t>(chosen - cumulative.begin(), static_cast<int64_t>(cumulative.size()) - 1);
  return candidates[static_cast<size_t>(index)].id;
}

}  // namespace

Status check_sampling(const Sampling& sampling) {
  if (!(sampling.temperature >= 0.0) || sampling.temperature > 1e3) {
    return Error::usage("temperature out of range").with_expected("0 to 1000");
  }
  if (sampling.top_k < 0) return Error::usage("top-k out of range").with_expected("0 or more");
  if (!(sampling.top_p > 0.0) || sampling.top_p > 1.0) {
    return Error::usage("top-p out of range").with_expected("above 0, at most 1");
  }
  return {};
}

Result<Sample> sample(std::span<const float> logits, const Sampling& sampling, uint64_t position) {
  TRILITH_RETURN_IF_ERROR(check_sampling(sampling));
  if (logits.empty()) return Error::usage("no logits to sample from");
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      return Error::runtime("the model gives logits that are not finite numbers")
          .with_found("token " + std::to_string(i));
    }
    if (logits[i] > logits[best]) best = i;
  }
  const float largest = logits[best];
  const int32_t id = sampling.temperature == 0.0 ? static_cast<int32_t>(best)
                                                 : draw(logits, sampling, largest, position);
  const double logprob =
      static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum_exp(logits, largest);
  return Sample{id, logprob};
}

double uniform(uint64_t seed, uint64_t position) {
  uint32_t counter[4] = {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0,
                         0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    std::copy(next, next + 4, counter);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  const uint64_t bits = (uint64_t{counter[0]} << 32 | counter[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace trilith::engine
