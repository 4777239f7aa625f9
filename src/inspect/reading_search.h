// From the tensors of a checkpoint to the readings of every family of modules: the survey says what
// holds codes, the narrow search reads them, the general one where that has no reading or nothing
// but statistics decides, and a dense sibling settles what they leave open. The order of these
// steps is all that is here; what comes out is what the sheet is written from.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "inspect/code_finder.h"
#include "inspect/dense_sibling.h"
#include "inspect/family_search.h"
#include "inspect/grouping.h"
#include "inspect/identities.h"
#include "inspect/tensor_summary.h"

namespace trilith::inspect {

// Members point into each other and into the checkpoint's tensors: it stays where it was filled.
struct Findings {
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  SearchContext context;
  std::vector<TensorSummary> summaries;  // parallel to the checkpoint's tensors
  std::vector<StoredModule> modules;
  FoundCodes found;
  std::vector<PlainModule> plain;
  std::vector<Identities> identities;  // the likeliest first; empty: places are not known
  std::vector<FamilySearch> families;

  bool holds_codes() const;
};

// What lies in the file: codes, scales, plain tensors, and what names say of them. An error: values
// that are not finite. `reference` may be null.
Status survey(const checkpoint::Checkpoint& checkpoint, const DenseSibling* reference,
              Findings& out);

// Fills `families` of a surveyed checkpoint, each with at least one reading; an error says why
// there is none, or that the bytes cannot be packed weights. `can_probe` is asked once, if at all:
// whether a text through the network can decide what statistics do not.
Status find_readings(const checkpoint::Checkpoint& checkpoint, const DenseSibling* reference,
                     const std::function<bool()>& can_probe, Findings& out);

}  // namespace trilith::inspect
