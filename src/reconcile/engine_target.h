// The engine as a target of verify: one whole-prompt forward with every point recorded.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/engine.h"
#include "reconcile/verify.h"

namespace trilith::reconcile {

// The engine is shared with the returned function; one prompt runs at a time.
TargetRun engine_target(std::shared_ptr<engine::Engine> engine);
// isa, mode, threads, commit and compiler, for the ledger.
Json describe_engine(const engine::Engine& engine);

}  // namespace trilith::reconcile
