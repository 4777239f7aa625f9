#include "inspect/alignment.h"

#include <cmath>

#include "base/ranks.h"
#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

constexpr double kLuck = 3;  // ln 20
constexpr double kDeviations = 4;
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

// The pairs of one profile.
struct Group {
  std::vector<double> first;
  std::vector<double> fixed;
  std::vector<std::vector<double>> partners;  // as unit ranks
};

std::vector<double> product(const std::vector<double>& first, const std::vector<double>& fixed) {
  std::vector<double> result = first;
  for (size_t i = 0; i < fixed.size() && i < result.size(); ++i) result[i] *= fixed[i];
  return result;
}

// All partners together, each as far as it goes along with `ranked`; less what chance gives so
// many.
double combined_nats(const Group& group, const std::vector<double>& ranked) {
  std::vector<double> sum(ranked.size());
  for (const std::vector<double>& partner : group.partners) {
    const double weight = dot(ranked, partner);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * partner[i];
  }
  const double norm = std::sqrt(dot(sum, sum));
  if (norm == 0) return 0;
  return evident_nats(dot(ranked, sum) / norm, ranked.size()) -
         0.5 * static_cast<double>(group.partners.size());
}

// `ranked`: first · fixed. Partners over one index space have their luck in common: the best of
// them counts, or all together as one.
double group_nats(const Group& group, const std::vector<double>& ranked) {
  double best = 0;
  for (const std::vector<double>& partner : group.partners) {
    best = std::max(best, evident_nats(dot(ranked, partner), ranked.size()));
  }
  const double alone = best - std::log(group.partners.size());
  return std::max({0.0, alone, combined_nats(group, ranked)});
}

// The same without allowance for luck, which the permutation test makes itself.
double raw_nats(const Group& group, const std::vector<double>& ranked) {
  double sum = 0;
  for (const std::vector<double>& partner : group.partners) {
    sum += correlation_nats(dot(ranked, partner), ranked.size());
  }
  return sum;
}

void permute(const std::vector<Group>& groups, int permutations, Alignment& alignment) {
  Shuffler shuffler(kSeed);
  int as_good = 0;
  double sum = 0;
  double squares = 0;
  std::vector<Group> shuffled = groups;
  for (Group& group : shuffled) {
    if (group.fixed.empty()) group.first = unit_ranks(group.first);
  }
  for (int round = 0; round < permutations; ++round) {
    double nats = 0;
    double raw = 0;
    for (Group& group : shuffled) {  // one order for all partners
      shuffler.shuffle(group.first);
      // Without a fixed part these are ranks already, which move with their values.
      const std::vector<double> ranked =
          group.fixed.empty() ? group.first : unit_ranks(product(group.first, group.fixed));
      nats += group_nats(group, ranked);
      raw += raw_nats(group, ranked);
    }
    sum += nats;
    squares += nats * nats;
    if (raw >= alignment.tested_nats) ++as_good;
  }
  alignment.p_value = (as_good + 1.0) / (permutations + 1.0);
  const double mean = sum / permutations;
  alignment.luck = kDeviations * std::sqrt(std::max(0.0, squares / permutations - mean * mean));
}

}  // namespace

Alignment measure_alignment(const std::vector<ProfilePair>& pairs, int permutations) {
  Alignment alignment;
  std::vector<Group> tested;
  Group group;
  std::vector<double> ranked;  // of the group
  bool is_tested = false;
  const auto close_group = [&] {
    if (group.partners.empty()) return;
    const double nats = group_nats(group, ranked);
    alignment.nats += nats;
    if (is_tested) {
      alignment.tested_nats += raw_nats(group, ranked);
      tested.push_back(std::move(group));
    }
    group = {};
  };
  for (const ProfilePair& pair : pairs) {
    if (!pair.repeats) close_group();
    if (pair.first.size() != pair.second.size() || pair.first.size() < 8) continue;
    if (group.partners.empty()) ranked = unit_ranks(product(pair.first, pair.fixed));
    std::vector<double> partner = unit_ranks(pair.second);
    if (ranked.empty() || partner.empty()) continue;
    const double rho = dot(ranked, partner);
    Alignment::Kind& kind = alignment.kinds[pair.what];
    ++kind.pairs;
    kind.mean_rho += rho;
    kind.nats += evident_nats(rho, ranked.size());
    if (group.partners.empty()) group = {pair.first, pair.fixed, {}};
    group.partners.push_back(std::move(partner));
    is_tested = pair.tested;
  }
  close_group();
  for (auto& [what, kind] : alignment.kinds) kind.mean_rho /= kind.pairs;
  if (permutations > 0 && !tested.empty()) permute(tested, permutations, alignment);
  return alignment;
}

}  // namespace trilith::inspect
