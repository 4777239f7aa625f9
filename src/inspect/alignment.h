// Order along K and N. Several tensors share an index space: the residual channels index norm
// gains, embedding columns, columns of q, k, v, gate, up and rows of o and down; the feed-forward
// neurons index rows of gate and up and columns of down; the value channels index rows of v and
// columns of o. Channels differ in strength, so profiles over one index space correlate, but only
// when the packed axis is read in the right order. A correlation is worth -n/2 · ln(1 - rho²) nats.
// The partners of one profile share its luck, so that the best of them counts, less the logarithm
// of their number. A permutation test says how often a random order does as well.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trilith::inspect {

// An order counts as confirmed when a random one does as well less often than this.
constexpr double kUnconfirmed = 0.02;

// Two profiles over one index space: first · fixed (where there is one) and second.
struct ProfilePair {
  std::string what;  // "columns of down_proj / rows of up_proj": pairs of one kind share it
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> fixed = {};  // what stays in place when `first` is in another order: scales
  bool tested = true;              // its correlation depends on the order in question
  bool repeats = false;            // `first` is that of the pair before: one group
};

struct Alignment {
  // Over all groups, so that readings along different axes compare, and of each what it says beyond
  // the luck of the best of many orders.
  double nats = 0;
  double tested_nats = 0;  // of all pairs that are tested, luck included
  double p_value = 1;      // of a random order doing as well on them
  double luck = 0;  // what the best of many random orders is above a random one: four deviations
  struct Kind {
    int pairs = 0;
    double mean_rho = 0;
    double nats = 0;
  };
  std::map<std::string, Kind> kinds;
};

// permutations = 0 leaves the p-value at 1.
Alignment measure_alignment(const std::vector<ProfilePair>& pairs, int permutations);

}  // namespace trilith::inspect
