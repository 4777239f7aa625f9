#include "cli/verb.h"

#ifndef TRILITH_VERSION
#error "the build defines TRILITH_VERSION"
#endif

namespace trilith::cli {

int run_program(int argc, char** argv) {
  CLI::App app(
      "Trilith works out undocumented low-bit LLM checkpoints, proves the reading, and runs them.");
  app.set_version_flag("--version", "trilith " TRILITH_VERSION);
  app.require_subcommand(1);
  Outcome outcome;
  add_inspect_verb(app, outcome);
  add_trace_verb(app, outcome);
  add_verify_verb(app, outcome);
  add_baseline_verb(app, outcome);
  add_run_verb(app, outcome);
  add_convert_verb(app, outcome);
  add_tokenize_verb(app, outcome);
  add_doctor_verb(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : exit_code(ErrorKind::kUsage);
  }
  return outcome.exit_code;
}

}  // namespace trilith::cli
