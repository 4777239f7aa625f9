// TRILITH_CHECK: a condition that only a mistake in this program can break (never input).
// Prints the condition and its place to stderr and aborts. Untrusted input goes through Result.
#pragma once

namespace trilith {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace trilith

#define TRILITH_CHECK(condition)                               \
  do {                                                         \
    if (!(condition)) {                                        \
      ::trilith::check_failed(#condition, __FILE__, __LINE__); \
    }                                                          \
  } while (false)
