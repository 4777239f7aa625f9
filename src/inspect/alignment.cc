#include "inspect/alignment.h"

#include <cmath>

#include "base/ranks.h"
#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

constexpr uint64_t kSeed = 0x7472696c697468;

// Ranks as a unit vector around zero, so that rho is a dot product; empty for a constant profile.
std::vector<double> unit_ranks(const std::vector<double>& values) {
  std::vector<double> result = ranks(values);
  const double mean = static_cast<double>(values.size() - 1) / 2;
  double squares = 0;
  for (double& value : result) {
    value -= mean;
    squares += value * value;
  }
  if (!(squares > 0)) return {};
  for (double& value : result) value /= std::sqrt(squares);
  return result;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

Alignment measure_alignment(const std::vector<ProfilePair>& pairs, int permutations) {
  Alignment alignment;
  std::vector<std::vector<double>> firsts;
  std::vector<std::vector<double>> seconds;
  for (const ProfilePair& pair : pairs) {
    if (pair.first.size() != pair.second.size() || pair.first.size() < 8) continue;
    std::vector<double> a = unit_ranks(pair.first);
    std::vector<double> b = unit_ranks(pair.second);
    if (a.empty() || b.empty()) continue;
    const double rho = dot(a, b);
    const double nats = correlation_nats(rho, a.size());
    Alignment::Kind& kind = alignment.kinds[pair.what];
    ++kind.pairs;
    kind.mean_rho += rho;
    kind.nats += nats;
    alignment.nats += nats;
    if (!pair.tested) continue;
    alignment.tested_nats += nats;
    firsts.push_back(std::move(a));
    seconds.push_back(std::move(b));
  }
  for (auto& [what, kind] : alignment.kinds) kind.mean_rho /= kind.pairs;
  if (permutations == 0 || firsts.empty()) return alignment;
  Shuffler shuffler(kSeed);
  int as_good = 0;
  for (int round = 0; round < permutations; ++round) {
    double nats = 0;
    for (size_t i = 0; i < firsts.size(); ++i) {
      shuffler.shuffle(firsts[i]);
      nats += correlation_nats(dot(firsts[i], seconds[i]), firsts[i].size());
    }
    if (nats >= alignment.tested_nats) ++as_good;
  }
  alignment.p_value = (as_good + 1.0) / (permutations + 1.0);
  return alignment;
}

}  // namespace trilith::inspect
