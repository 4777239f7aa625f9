#include "cli/trace_call.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "cli/open_model.h"
#include "reconcile/prompts.h"
#include "reference/reference.h"

namespace trilith::cli {
namespace {

Result<std::vector<reconcile::TracedPrompt>> read_texts(const std::string& path,
                                                        const text::Tokenizer& tokenizer) {
  TRILITH_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  auto texts = reconcile::parse_prompts(text);
  if (!texts.ok()) return std::move(texts).error().with_file(path);
  std::vector<reconcile::TracedPrompt> prompts;
  for (std::string& prompt : *texts) {
    auto ids = tokenizer.encode(prompt);
    if (!ids.ok()) {
      return std::move(ids).error().with_file(path).with_context(
          fmt::format("prompt {}", prompts.size()));
    }
    prompts.push_back({std::move(prompt), std::move(*ids)});
  }
  return prompts;
}

}  // namespace

Result<std::vector<reconcile::TracedPrompt>> read_id_prompts(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  auto lists = reconcile::parse_id_lists(text);
  if (!lists.ok()) return std::move(lists).error().with_file(path);
  std::vector<reconcile::TracedPrompt> prompts;
  for (std::vector<int32_t>& ids : *lists) prompts.push_back({"", std::move(ids)});
  return prompts;
}

Status run_trace(const TraceArguments& arguments) {
  TRILITH_ASSIGN_OR_RETURN(const reconcile::TraceLevel level,
                           reconcile::level_from_name(arguments.level));
  TRILITH_ASSIGN_OR_RETURN(
      const model::LoadedModel model,
      open_model(arguments.model, arguments.sheet, {.threads = arguments.threads}));
  reconcile::TraceOrigin origin{&model.weights, &model.sheet, model.checkpoint.config(), "",
                                TRILITH_VERSION};
  std::vector<reconcile::TracedPrompt> prompts;
  if (!arguments.given.empty()) {
    prompts = arguments.given;
  } else if (!arguments.ids.empty()) {
    TRILITH_ASSIGN_OR_RETURN(prompts, read_id_prompts(arguments.ids));
  } else if (model.tokenizer) {
    origin.tokenizer_sha256 = model.tokenizer_sha256;
    TRILITH_ASSIGN_OR_RETURN(prompts, read_texts(arguments.prompts, *model.tokenizer));
  } else {
    return Error::usage("the model has no tokenizer.json, so texts cannot be read")
        .with_file(model.checkpoint.folder())
        .with_hint("give token ids with --ids");
  }
  for (reconcile::TracedPrompt& prompt : prompts) {
    const auto limit = static_cast<size_t>(arguments.max_tokens);
    if (limit > 0 && prompt.ids.size() > limit) prompt.ids.resize(limit);
  }
  reconcile::TraceOptions options;
  options.level = level;
  options.full_prompts = arguments.full_prompts;
  options.sampled_rows = arguments.rows;
  options.seed = arguments.seed;
  options.points = arguments.points;
  if (arguments.backend == "engine") {
    engine::Options engine_options;
    engine_options.threads = arguments.threads;
    if (!arguments.mode.empty()) {
      TRILITH_ASSIGN_OR_RETURN(engine_options.mode, engine::mode_from_name(arguments.mode));
    }
    TRILITH_ASSIGN_OR_RETURN(engine::Engine engine,
                             engine::Engine::create(model.weights, engine_options));
    return reconcile::trace_engine(origin, prompts, engine, options, arguments.output);
  }
  reference::Mode mode = reference::Reference::default_mode(model.weights.spec);
  if (!arguments.mode.empty()) {
    TRILITH_ASSIGN_OR_RETURN(mode, reference::mode_from_name(arguments.mode));
  }
  ThreadPool pool(arguments.threads);
  return reconcile::trace_reference(origin, prompts, mode, options, pool, arguments.output);
}

}  // namespace trilith::cli
