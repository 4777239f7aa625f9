// The search with the probe: losses for the likeliest readings, until one makes the text
// predictable; then what the statistics leave open beside it (the sign, the direction), the best
// other arrangement and other roles, so that the sheet can show what each wrong reading would cost.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "inspect/decision.h"
#include "inspect/identities.h"
#include "inspect/sheet.h"

namespace trilith::inspect {

// Loss in nats a token when each family is read by the given reading and modules are `ids`.
using LossFunction =
    std::function<Result<double>(const std::vector<const Reading*>&, const IdsByName& ids)>;

struct ProbeOutcome {
  size_t identities = 0;  // which of the identities it was
  IdsByName ids;          // possibly with roles of equal shape exchanged
  std::vector<ProbeLine> lines;
  std::set<model::Role> undecided_roles;  // exchanging these hardly changes the loss
  bool predicted = false;                 // some reading made the text predictable
  std::string error;                      // of the last probe that failed, empty otherwise
};

// Sets probe_loss in the readings and ranks them. `identities` is not empty.
ProbeOutcome probe_families(std::vector<FamilySearch>& families,
                            const std::vector<Identities>& identities, const LossFunction& loss,
                            const ProbeScale& scale);

}  // namespace trilith::inspect
