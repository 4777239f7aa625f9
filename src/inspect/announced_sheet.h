// The sheet of a checkpoint that announces its format: every claim is held against the bytes, and
// followed only when they agree. Where they do not, the search has the word, and the verdict is
// never better than ambiguous.
#pragma once

#include <functional>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "inspect/inspection.h"
#include "inspect/sheet.h"

namespace trilith::inspect {

// `search` works the format out from the bytes alone; it is called when nothing is announced, when
// the bytes contradict what is, and when the user assumes fields by hand.
Result<Sheet> with_announcement(const checkpoint::Checkpoint& checkpoint,
                                const InspectOptions& options,
                                const std::function<Result<Sheet>()>& search);

}  // namespace trilith::inspect
