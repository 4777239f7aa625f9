#include "inspect/alignment.h"

#include <cmath>

#include "base/ranks.h"
#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

constexpr double kLuck = 3;  // ln 20
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

// Of the twenty or so orders that are tried, the best reaches kLuck by chance.
double evident_nats(double rho, size_t count) {
  return std::max(0.0, correlation_nats(rho, count) - kLuck);
}

}  // namespace

Alignment measure_alignment(const std::vector<ProfilePair>& pairs, int permutations) {
  Alignment alignment;
  struct Tested {
    std::vector<double> first;
    std::vector<double> second;
    bool repeats = false;
  };
  std::vector<Tested> tested;
  const ProfilePair* before = nullptr;  // the last pair that was kept
  for (const ProfilePair& pair : pairs) {
    if (pair.first.size() != pair.second.size() || pair.first.size() < 8) continue;
    std::vector<double> a = unit_ranks(pair.first);
    std::vector<double> b = unit_ranks(pair.second);
    if (a.empty() || b.empty()) continue;
    const double rho = dot(a, b);
    const double nats = evident_nats(rho, a.size());
    Alignment::Kind& kind = alignment.kinds[pair.what];
    ++kind.pairs;
    kind.mean_rho += rho;
    kind.nats += nats;
    alignment.nats += nats;
    if (!pair.tested) continue;
    alignment.tested_nats += correlation_nats(rho, a.size());
    const bool repeats = pair.repeats && before == &pair - 1;
    tested.push_back({std::move(a), std::move(b), repeats});
    before = &pair;
  }
  for (auto& [what, kind] : alignment.kinds) kind.mean_rho /= kind.pairs;
  if (permutations == 0 || tested.empty()) return alignment;
  Shuffler shuffler(kSeed);
  int as_good = 0;
  for (int round = 0; round < permutations; ++round) {
    double nats = 0;
    for (size_t i = 0; i < tested.size(); ++i) {
      Tested& pair = tested[i];
      if (pair.repeats) {
        pair.first = tested[i - 1].first;
      } else {
        shuffler.shuffle(pair.first);
      }
      nats += correlation_nats(dot(pair.first, pair.second), pair.first.size());
    }
    if (nats >= alignment.tested_nats) ++as_good;
  }
  alignment.p_value = (as_good + 1.0) / (permutations + 1.0);
  return alignment;
}

}  // namespace trilith::inspect
