// The engine as something that runs whole prompts with every point recorded: for traces, and as a
// target of verify.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "engine/engine.h"
#include "reconcile/verify.h"

namespace trilith::reconcile {

// One forward over all of `ids` in a cache of its own; `sink` gets every point, all logits
// included.
Status run_prompt(engine::Engine& engine, std::span<const int32_t> ids, model::TraceSink* sink);

// The engine is shared with the returned function; one prompt runs at a time.
TargetRun engine_target(std::shared_ptr<engine::Engine> engine);
// isa, mode, threads, commit and compiler, for the ledger.
Json describe_engine(const engine::Engine& engine);

}  // namespace trilith::reconcile
