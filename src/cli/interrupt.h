// InterruptHandler: while it lives, Ctrl-C sets a flag instead of ending the program; a second one
// ends it.
#pragma once

#include <csignal>

namespace trilith::cli {

class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

  static bool interrupted();

 private:
  struct sigaction previous_ = {};
};

}  // namespace trilith::cli
