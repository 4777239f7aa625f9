#include "cli/verify_call.h"

#include <memory>

#include "base/output_file.h"
#include "cli/open_model.h"
#include "cli/verb.h"
#include "reconcile/engine_target.h"
#include "reconcile/verify.h"

namespace trilith::cli {
namespace {

Result<reconcile::Ledger> verify_engine(const VerifyArguments& arguments,
                                        const model::LoadedModel& model,
                                        const reconcile::TraceFile& baseline) {
  engine::Options options;
  options.isa = arguments.isa;
  options.threads = arguments.threads;
  if (!arguments.mode.empty()) {
    TRILITH_ASSIGN_OR_RETURN(options.mode, engine::mode_from_name(arguments.mode));
  }
  TRILITH_ASSIGN_OR_RETURN(engine::Engine created, engine::Engine::create(model.weights, options));
  auto engine = std::make_shared<engine::Engine>(std::move(created));
  reconcile::VerifyOptions verify_options;
  TRILITH_ASSIGN_OR_RETURN(verify_options.target_mode,
                           reference::mode_from_name(engine::mode_name(engine->mode())));
  verify_options.build = reconcile::describe_engine(*engine);
  verify_options.threads = arguments.threads;
  return reconcile::verify(model.weights, baseline, reconcile::engine_target(engine),
                           verify_options);
}

Result<reconcile::Ledger> verify_trace(const VerifyArguments& arguments,
                                       const model::LoadedModel& model,
                                       const reconcile::TraceFile& baseline) {
  TRILITH_ASSIGN_OR_RETURN(const reconcile::TraceFile target,
                           reconcile::TraceFile::open(arguments.target));
  reconcile::VerifyOptions options;
  options.target_mode = reference::Mode::kF32;
  const Json& described = target.description();
  std::string mode = arguments.mode;
  if (mode.empty() && described["mode"].as_string() != nullptr) {
    mode = *described["mode"].as_string();
  }
  if (!mode.empty()) {
    TRILITH_ASSIGN_OR_RETURN(options.target_mode, reference::mode_from_name(mode));
  }
  options.build = described["build"];
  options.threads = arguments.threads;
  return reconcile::verify(model.weights, baseline, reconcile::trace_target(target), options);
}

}  // namespace

Result<int> run_verify(const VerifyArguments& arguments) {
  if (arguments.json == "-" && arguments.html == "-") {
    return Error::usage("--json and --html cannot both go to stdout");
  }
  TRILITH_ASSIGN_OR_RETURN(const reconcile::TraceFile baseline,
                           reconcile::TraceFile::open(arguments.baseline));
  TRILITH_ASSIGN_OR_RETURN(
      const model::LoadedModel model,
      open_model(arguments.model, arguments.sheet, {.threads = arguments.threads}));
  TRILITH_ASSIGN_OR_RETURN(const reconcile::Ledger ledger,
                           arguments.target.empty() ? verify_engine(arguments, model, baseline)
                                                    : verify_trace(arguments, model, baseline));
  TRILITH_RETURN_IF_ERROR(write_json(arguments.json, reconcile::to_json(ledger)));
  if (!arguments.html.empty()) {
    TRILITH_RETURN_IF_ERROR(write_text_file(arguments.html, reconcile::to_html(ledger)));
  }
  if (!arguments.junit.empty()) {
    TRILITH_RETURN_IF_ERROR(write_text_file(arguments.junit, reconcile::to_junit(ledger)));
  }
  if (arguments.json != "-" && arguments.html != "-") {
    TRILITH_RETURN_IF_ERROR(write_text_file("-", reconcile::to_text(ledger)));
  }
  return ledger.exit_code(arguments.strict);
}

void add_verify_options(CLI::App& verb, VerifyArguments& arguments) {
  auto* target =
      verb.add_option("--target", arguments.target, "A trace to check in place of the engine");
  verb.add_option("--backend", arguments.backend, "What to run")
      ->check(CLI::IsMember({"engine"}))
      ->capture_default_str()
      ->excludes(target);
  verb.add_option("--mode", arguments.mode,
                  "Activations of packed linears; default: as the model was trained, else a16")
      ->check(CLI::IsMember({"a8", "a16", "f32"}));
  verb.add_option("--isa", arguments.isa, "Force an instruction set, as TRILITH_ISA does");
  verb.add_option("--sheet", arguments.sheet, "Format sheet of the packed weights");
  verb.add_option("--threads", arguments.threads, "Threads; 0: one a processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb.add_flag("--strict", arguments.strict, "Exit 3 when the verdict is undecided, too");
  verb.add_option("--json", arguments.json, "Write the ledger as JSON to FILE (- = stdout)");
  verb.add_option("--html", arguments.html,
                  "Write the ledger as one page with plots to FILE (- = stdout)");
  verb.add_option("--junit", arguments.junit,
                  "Write the ledger as JUnit XML to FILE, a test case a point, for CI pages");
}

}  // namespace trilith::cli
