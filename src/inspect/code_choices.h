// Which tensors of a module may hold its codes, and the laws to try on them: one tensor, or two or
// three whose sizes are those of unequal planes of bits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "inspect/law_space.h"
#include "inspect/stored_class.h"

namespace trilith::inspect {

using CodeChoice = std::pair<std::vector<std::string>, std::vector<CandidateLaw>>;

std::vector<CodeChoice> code_choices(const StoredClass& stored);

}  // namespace trilith::inspect
