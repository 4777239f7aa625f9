// Profiles of the unquantised neighbours: norm gains as they are, matrices over the residual
// channels by the energy of their columns.
#pragma once

#include <vector>

#include "inspect/identities.h"
#include "inspect/profiles.h"

namespace trilith::inspect {

std::vector<ProfiledPlain> profile_plain(const std::vector<PlainModule>& modules,
                                         const IdsByName& ids, int64_t hidden);

}  // namespace trilith::inspect
