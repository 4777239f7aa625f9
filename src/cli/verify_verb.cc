#include <memory>

#include "cli/verb.h"
#include "cli/verify_call.h"

namespace trilith::cli {

void add_verify_verb(CLI::App& app, Outcome& outcome) {
  CLI::App* verb = app.add_subcommand(
      "verify", "Hold an implementation against a baseline trace and name the first wrong step");
  auto arguments = std::make_shared<VerifyArguments>();
  verb->add_option("model", arguments->model, "Directory, safetensors file or shard index")
      ->required();
  verb->add_option("--baseline", arguments->baseline, "The trace that is right")->required();
  add_verify_options(*verb, *arguments);
  verb->footer(examples(
      {"trilith verify models/sample --baseline models/sample/golden.safetensors",
       "trilith verify MODEL --baseline golden.safetensors --target port.safetensors --json -"}));
  verb->callback([arguments, &outcome] {
    const Result<int> result = run_verify(*arguments);
    outcome.exit_code = result.ok() ? *result : report_error(result.error());
  });
}

}  // namespace trilith::cli
