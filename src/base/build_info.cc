#include "base/build_info.h"

#ifndef TRILITH_COMMIT
#error "the build defines TRILITH_COMMIT"
#endif
#define TRILITH_STRING_INNER(value) #value
#define TRILITH_STRING(value) TRILITH_STRING_INNER(value)

namespace trilith {

std::string_view build_commit() { return TRILITH_COMMIT; }

std::string_view build_compiler() {
#if defined(__clang__)
  return "Clang " TRILITH_STRING(__clang_major__) "." TRILITH_STRING(
      __clang_minor__) "." TRILITH_STRING(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "GCC " TRILITH_STRING(__GNUC__) "." TRILITH_STRING(__GNUC_MINOR__) "." TRILITH_STRING(
      __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace trilith
