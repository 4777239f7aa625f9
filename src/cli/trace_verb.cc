#include <fmt/format.h>

#include <memory>

#include "base/log.h"
#include "cli/trace_call.h"
#include "cli/verb.h"
#include "reconcile/trace_import.h"

namespace trilith::cli {
namespace {

struct ImportArguments {
  std::string folder;
  std::string map;
  std::string ids;
  std::string output;
  std::string mode;
  std::string level = "full";
  int64_t rows = 8;
  uint64_t seed = 0;
};

Status run_import(const ImportArguments& arguments) {
  reconcile::ImportOptions options;
  TRILITH_ASSIGN_OR_RETURN(options.trace.level, reconcile::level_from_name(arguments.level));
  options.trace.sampled_rows = arguments.rows;
  options.trace.seed = arguments.seed;
  options.mode = arguments.mode;
  reconcile::TraceMap map = reconcile::TraceMap::builtin();
  if (!arguments.map.empty()) {
    TRILITH_ASSIGN_OR_RETURN(const Json json, read_json_file(arguments.map));
    auto read = reconcile::TraceMap::from_json(json);
    if (!read.ok()) return std::move(read).error().with_file(arguments.map);
    map = std::move(*read);
  }
  if (!arguments.ids.empty()) {
    TRILITH_ASSIGN_OR_RETURN(std::vector<reconcile::TracedPrompt> prompts,
                             read_id_prompts(arguments.ids));
    for (reconcile::TracedPrompt& prompt : prompts) options.ids.push_back(std::move(prompt.ids));
  }
  TRILITH_ASSIGN_OR_RETURN(
      const reconcile::ImportReport report,
      reconcile::import_trace(arguments.folder, map, options, arguments.output));
  log_info(fmt::format("{} tensors of {} prompts imported", report.tensors, report.prompts));
  if (!report.unknown.empty()) {
    log_warning(fmt::format("{} tensors have no point and are left out, the first is '{}'",
                            report.unknown.size(), report.unknown.front()));
  }
  return {};
}

void add_import_verb(CLI::App& trace, Outcome& outcome) {
  CLI::App* verb = trace.add_subcommand(
      "import", "Make a trace of a folder of dumped tensors (.npy, .pt, .safetensors)");
  auto arguments = std::make_shared<ImportArguments>();
  verb->add_option("folder", arguments->folder, "The dump: a folder, or one file")->required();
  verb->add_option("--map", arguments->map,
                   "JSON that gives points their names in the dump; default: common styles");
  verb->add_option("--ids", arguments->ids,
                   "Token ids: JSON lines of integer lists; default: a tensor 'input_ids'");
  verb->add_option("-o,--output", arguments->output, "The trace to write")->required();
  verb->add_option("--mode", arguments->mode, "What the dumped model did to its linears' inputs")
      ->check(CLI::IsMember({"f32", "a8", "a16"}));
  verb->add_option("--level", arguments->level, "Which rows are stored; summaries are always")
      ->check(CLI::IsMember({"fingerprint", "sampled", "full"}))
      ->capture_default_str();
  verb->add_option("--rows", arguments->rows, "Rows stored of a sampled prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--seed", arguments->seed, "Chooses the sampled rows")->capture_default_str();
  verb->footer(
      examples({"trilith trace import dump -o port.safetensors",
                "trilith trace import dump --map names.json --ids ids.jsonl -o t.safetensors"}));
  verb->callback([arguments, &outcome] {
    const Status status = run_import(*arguments);
    if (!status.ok()) outcome.exit_code = report_error(status.error());
  });
}

}  // namespace

void add_trace_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb =
      app.add_subcommand("trace", "Record what a model computes at every point, as safetensors");
  auto arguments = std::make_shared<TraceArguments>();
  verb->add_option("model", arguments->model, "Directory or safetensors file");
  auto* prompts = verb->add_option("--prompts", arguments->prompts,
                                   "Texts: one a line, or JSON lines {\"prompt\": …}");
  auto* ids = verb->add_option("--ids", arguments->ids, "Token ids: JSON lines of integer lists");
  prompts->excludes(ids);
  verb->add_option("-o,--output", arguments->output, "The trace to write");
  verb->add_option("--sheet", arguments->sheet, "Format sheet of the packed weights");
  verb->add_option("--backend", arguments->backend,
                   "What computes: reference (double precision) or engine")
      ->check(CLI::IsMember({"reference", "engine"}))
      ->capture_default_str();
  verb->add_option("--mode", arguments->mode,
                   "Activations of packed linears; default: as the model was trained, else a16")
      ->check(CLI::IsMember({"f32", "a8", "a16"}));
  verb->add_option("--level", arguments->level, "Which rows are stored; summaries are always")
      ->check(CLI::IsMember({"fingerprint", "sampled", "full"}))
      ->capture_default_str();
  verb->add_option("--full-prompts", arguments->full_prompts,
                   "With --level full: store the first N prompts whole and sample the others")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--rows", arguments->rows, "Rows stored of a sampled prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--seed", arguments->seed, "Chooses the sampled rows")->capture_default_str();
  verb->add_option("--points", arguments->points,
                   "Store only these points (q_proj,attn,logits …), in every layer")
      ->delimiter(',');
  verb->add_option("--max-tokens", arguments->max_tokens, "Cut every prompt to N tokens")
      ->check(CLI::PositiveNumber);
  verb->add_option("--threads", arguments->threads, "Threads; 0: one a processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->footer(examples(
      {"trilith trace models/sample --prompts texts.txt -o trace.safetensors",
       "trilith trace MODEL --ids ids.jsonl --mode f32 --level sampled -o t.safetensors"}));
  // Not required() to the parser, which would ask for them before `trace import` too.
  add_import_verb(*verb, outcome);
  verb->callback([arguments, verb, &outcome] {
    if (!verb->get_subcommands().empty()) return;
    if (arguments->model.empty() || arguments->output.empty()) {
      outcome.exit_code = report_error(Error::usage("give a model and --output FILE"));
      return;
    }
    if (arguments->prompts.empty() && arguments->ids.empty()) {
      outcome.exit_code = report_error(Error::usage("give --prompts or --ids"));
      return;
    }
    const Status status = run_trace(*arguments);
    if (!status.ok()) outcome.exit_code = report_error(status.error());
  });
}

}  // namespace trilith::cli
