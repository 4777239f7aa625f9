#include "reconcile/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/build_info.h"
#include "base/fingerprint.h"
#include "base/log.h"
#include "reconcile/engine_target.h"
#include "reference/reference.h"

namespace trilith::reconcile {
namespace {

Status check_points(const model::ModelSpec& spec, const TraceOptions& options) {
  const std::vector<reference::Step> steps = reference::forward_steps(spec);
  for (const std::string& wanted : options.points) {
    const std::string base = wanted.substr(0, wanted.find('.'));
    const bool known = std::any_of(steps.begin(), steps.end(), [&](const reference::Step& step) {
      return without_layer(step.point) == base;
    });
    if (known) continue;
    std::string names;
    for (const reference::Step& step : steps) {
      const std::string name(without_layer(step.point));
      if ((", " + names + ",").find(", " + name + ",") != std::string::npos) continue;
      names += (names.empty() ? "" : ", ") + name;
    }
    return Error::usage("the model has no such trace point")
        .with_expected("one of " + names)
        .with_found(wanted);
  }
  return {};
}

using RunPrompt = std::function<Status(const std::vector<int32_t>& ids, model::TraceSink* sink)>;

Status trace(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
             const RunPrompt& run, const TraceOptions& options, Json description,
             const std::string& path) {
  TRILITH_RETURN_IF_ERROR(check_points(origin.weights->spec, options));
  TraceWriter writer(options);
  ProgressBar progress("tracing", prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    writer.begin_prompt(prompts[i].ids);
    const Status ran = run(prompts[i].ids, &writer);
    if (!ran.ok()) return Error(ran.error()).with_context(fmt::format("prompt {}", i));
    progress.advance();
  }
  return writer.write(path, std::move(description));
}

}  // namespace

Json weight_fingerprints(const model::Weights& weights) {
  Json::Object modules;
  for (const auto& [name, print] : weights.module_fingerprints) {
    modules.emplace_back(name, Json::object({{"ordered", hex64(print.ordered)},
                                             {"multiset", hex64(print.multiset)}}));
  }
  return Json(std::move(modules));
}

Json scale_dtype(const model::FormatSheet& sheet) {
  std::optional<DType> common;
  for (const model::ModuleFormat& module : sheet.modules) {
    if (common && *common != module.spec.scale.dtype) return "mixed";
    common = module.spec.scale.dtype;
  }
  return common ? Json(dtype_name(*common)) : Json();
}

Json describe_trace(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
                    const std::string& backend, const std::string& mode, const std::string& isa,
                    int threads) {
  Json texts = Json(Json::Array());
  for (const TracedPrompt& prompt : prompts) {
    texts.push(prompt.text.empty() ? Json() : Json(prompt.text));
  }
  Json description = Json::object({{"model_fingerprint", origin.weights->fingerprint},
                                   {"weights", weight_fingerprints(*origin.weights)},
                                   {"dtype", "F32"},
                                   {"scale_dtype", scale_dtype(*origin.sheet)},
                                   {"mode", mode},
                                   {"backend", backend}});
  description.set("build", Json::object({{"commit", build_commit()},
                                         {"compiler", build_compiler()},
                                         {"isa", isa},
                                         {"threads", threads}}));
  description.set("versions", Json::object({{"trilith", origin.version}}));
  description.set("config", origin.config);
  description.set("texts", std::move(texts));
  description.set("tokenizer_sha256",
                  origin.tokenizer_sha256.empty() ? Json() : Json(origin.tokenizer_sha256));
  return description;
}

Status trace_reference(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
                       reference::Mode mode, const TraceOptions& options, ThreadPool& pool,
                       const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const reference::Reference reference,
                           reference::Reference::create(*origin.weights, mode, pool));
  const RunPrompt run = [&](const std::vector<int32_t>& ids, model::TraceSink* sink) -> Status {
    TRILITH_RETURN_IF_ERROR(reference.run(ids, sink));
    return {};
  };
  return trace(origin, prompts, run, options,
               describe_trace(origin, prompts, "reference", std::string(reference::mode_name(mode)),
                              "double", pool.threads()),
               path);
}

Status trace_engine(const TraceOrigin& origin, const std::vector<TracedPrompt>& prompts,
                    engine::Engine& engine, const TraceOptions& options, const std::string& path) {
  const RunPrompt run = [&](const std::vector<int32_t>& ids, model::TraceSink* sink) {
    return run_prompt(engine, ids, sink);
  };
  return trace(
      origin, prompts, run, options,
      describe_trace(origin, prompts, "engine", std::string(engine::mode_name(engine.mode())),
                     std::string(engine.isa()), engine.threads()),
      path);
}

}  // namespace trilith::reconcile
