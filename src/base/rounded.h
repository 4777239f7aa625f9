// Figures as people read them in sheets: four significant digits, and the same text on every
// machine. strtod gives the double nearest to those digits, which prints as them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace trilith {

// Values that are not finite stay as they are (and are null in JSON).
inline double rounded(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr) : value;
}

}  // namespace trilith
