// Order along K and N. Several tensors share an index space: the residual channels index norm
// gains, embedding columns, columns of q, k, v, gate, up and rows of o and down; the feed-forward
// neurons index rows of gate and up and columns of down; the value channels index rows of v and
// columns of o. Channels differ in strength, so profiles over one index space correlate, but only
// when the packed axis is read in the right order. Each correlation is worth -n/2 · ln(1 - rho²)
// nats; a permutation test says how often a random order does as well.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trilith::inspect {

// Two profiles over one index space.
struct ProfilePair {
  std::string what;  // "columns of down_proj / rows of up_proj": pairs of one kind share it
  std::vector<double> first;
  std::vector<double> second;
  bool tested = true;  // its correlation depends on the order in question
  // `first` is that of the pair before: a random order is one order for both.
  bool repeats = false;
};

struct Alignment {
  // Over all pairs, so that readings along different axes compare, and of each what it says beyond
  // the luck of the best of many orders.
  double nats = 0;
  double tested_nats = 0;  // over the tested ones, luck included
  double p_value = 1;      // of a random order doing as well on the tested pairs
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
