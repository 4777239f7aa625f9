// A reading of all families as the FormatSheet that the loader takes, for the probe.
#pragma once

#include <vector>

#include "inspect/family_search.h"
#include "inspect/identities.h"
#include "model/format_sheet.h"

namespace trilith::inspect {

// `readings` runs parallel to `families`. Refuses modules whose place is not known or whose shape
// is not that of their role.
Result<model::FormatSheet> build_format(const std::vector<FamilySearch>& families,
                                        const std::vector<const Reading*>& readings,
                                        const std::vector<PlainModule>& plain, const IdsByName& ids,
                                        const ConfigSizes& sizes);

}  // namespace trilith::inspect
