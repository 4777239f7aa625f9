#include "cli/interrupt.h"

namespace trilith::cli {
namespace {

volatile std::sig_atomic_t flag = 0;

}  // namespace

InterruptHandler::InterruptHandler() {
  flag = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { flag = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &previous_);
}

InterruptHandler::~InterruptHandler() { sigaction(SIGINT, &previous_, nullptr); }

bool InterruptHandler::interrupted() { return flag != 0; }

}  // namespace trilith::cli
