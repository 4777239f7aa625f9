// What this program was built from, for traces and speed records.
#pragma once

#include <string_view>

namespace trilith {

// Abbreviated commit at configure time (uncommitted changes do not show); "unknown" outside git.
std::string_view build_commit();
// "GCC 12.2.0", "Clang 14.0.6"
std::string_view build_compiler();

}  // namespace trilith
