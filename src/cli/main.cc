#include <csignal>
#include <exception>

#include "cli/verb.h"

#ifndef TRILITH_VERSION
#error "the build defines TRILITH_VERSION"
#endif

namespace trilith::cli {
namespace {

int run(int argc, char** argv) {
  CLI::App app(
      "Trilith works out undocumented low-bit LLM checkpoints, proves the reading, and runs them.");
  app.set_version_flag("--version", "trilith " TRILITH_VERSION);
  app.require_subcommand(1);
  Outcome outcome;
  add_doctor_verb(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : exit_code(ErrorKind::kUsage);
  }
  return outcome.exit_code;
}

}  // namespace
}  // namespace trilith::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, reported like any other
  try {
    return trilith::cli::run(argc, argv);
  } catch (const std::exception& error) {  // out of memory and the like: nothing else throws
    return trilith::cli::report_error(trilith::Error::runtime(error.what()));
  }
}
