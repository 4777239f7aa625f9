// The general search: every law of the law space whose sizes fit, every use of the tensors beside
// the codes, every code table, weighed in nats. Where family_search knows ternary codes and int8
// and one scale, this one takes any width, scale groups, zero points, tables in the file and codes
// spread over several tensors. Its result has the same form. Deterministic.
#pragma once

#include "inspect/family_search.h"
#include "inspect/stored_class.h"

namespace trilith::inspect {

// A class may fall into several families (modules of different widths), each with its readings.
// A family without readings says why (refusal).
std::vector<FamilySearch> general_search(const StoredClass& stored, const SearchContext& context);

}  // namespace trilith::inspect
