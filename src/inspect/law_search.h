// The laws under which the stored bytes of a class are codes of weights: every law of the law space
// whose sizes fit, worth the nats that it saves against raw bytes, without those whose codes cannot
// be quantised weights (code_statistics.h). Side tensors have no part in it. Views must outlive the
// result.
#pragma once

#include <string>
#include <vector>

#include "inspect/code_statistics.h"
#include "inspect/config_sizes.h"
#include "inspect/hypothesis.h"
#include "inspect/law_space.h"
#include "inspect/stored_class.h"

namespace trilith::inspect {

// Elements that are decoded for the evidence; further modules are taken to be like the first ones.
constexpr int64_t kMostElements = int64_t{1} << 19;

struct Law {
  CandidateLaw candidate;
  std::vector<PackedModule> placed;
  CodeStatistics statistics;
  double nats = 0;
  size_t surplus = 0;  // matrices that the layers of the config have no places for
};

struct LawsFound {
  std::vector<Law> laws;  // the most nats first; none further behind than evidence could make up
  std::string refusal;    // what the best law that was turned down looks like instead
};

// `legal`: the shapes that the config allows.
LawsFound find_laws(const StoredClass& stored, const std::vector<LogicalShape>& legal,
                    const ConfigSizes& sizes);

}  // namespace trilith::inspect
