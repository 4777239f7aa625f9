#include "reconcile/engine_target.h"

#include <utility>

#include "base/build_info.h"

namespace trilith::reconcile {

Status run_prompt(engine::Engine& engine, std::span<const int32_t> ids, model::TraceSink* sink) {
  TRILITH_ASSIGN_OR_RETURN(engine::KvCache cache,
                           engine.make_cache(static_cast<int64_t>(ids.size())));
  const engine::Batch batch{{{&cache, ids, engine::LogitsWanted::kAll}}};
  TRILITH_RETURN_IF_ERROR(engine.forward(batch, sink));
  return {};
}

TargetRun engine_target(std::shared_ptr<engine::Engine> engine) {
  return [engine = std::move(engine)](int64_t,
                                      const std::vector<int32_t>& ids) -> Result<PromptValues> {
    Recorder recorder(ids);
    TRILITH_RETURN_IF_ERROR(run_prompt(*engine, ids, &recorder));
    return recorder.take();
  };
}

Json describe_engine(const engine::Engine& engine) {
  return Json::object({{"backend", "engine"},
                       {"commit", build_commit()},
                       {"compiler", build_compiler()},
                       {"isa", engine.isa()},
                       {"mode", engine::mode_name(engine.mode())},
                       {"threads", engine.threads()}});
}

}  // namespace trilith::reconcile
