#include <csignal>
#include <exception>

#include "cli/verb.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, reported like any other
  try {
    return trilith::cli::run_program(argc, argv);
  } catch (const std::exception& error) {  // out of memory and the like: nothing else throws
    return trilith::cli::report_error(trilith::Error::runtime(error.what()));
  }
}
