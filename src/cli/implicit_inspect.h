// implicit_inspect: what a verb gives model::open_model so that a checkpoint without a sheet and
// without an announcement still opens, when its bytes identify the format.
#pragma once

#include "model/open_model.h"

namespace trilith::cli {

model::InspectFunction implicit_inspect();

}  // namespace trilith::cli
