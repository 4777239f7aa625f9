#include "reference/activation.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace trilith::reference {
namespace {

constexpr double kSmallestA8Absmax = 1e-5;

struct CodeRange {
  double lowest;
  double highest;
};

CodeRange code_range(Mode mode) {
  if (mode == Mode::kA8) return {-128, 127};
  return {-32767, 32767};
}

double row_scale(const double* row, int64_t cols, Mode mode) {
  double absmax = 0;
  for (int64_t k = 0; k < cols; ++k) absmax = std::max(absmax, std::fabs(row[k]));
  if (mode == Mode::kA8) return 127.0 / std::max(absmax, kSmallestA8Absmax);
  return absmax > 0 ? 32767.0 / absmax : 1.0;
}

// Half to even, whatever the rounding mode of the thread.
double round_half_even(double value) {
  const double magnitude = std::fabs(value);
  const double below = std::floor(magnitude);
  const double rest = magnitude - below;  // exact: below 1 and on magnitude's grid
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2.0) != 0);
  return std::copysign(up ? below + 1 : below, value);
}

double code_of(double scaled, Mode mode) {
  const CodeRange range = code_range(mode);
  return std::clamp(round_half_even(scaled), range.lowest, range.highest);
}

}  // namespace

std::string_view mode_name(Mode mode) {
  switch (mode) {
    case Mode::kF32:
      return "f32";
    case Mode::kA8:
      return "a8";
    case Mode::kA16:
      return "a16";
  }
  TRILITH_CHECK(false);
}

Result<Mode> mode_from_name(std::string_view name) {
  for (const Mode mode : {Mode::kF32, Mode::kA8, Mode::kA16}) {
    if (name == mode_name(mode)) return mode;
  }
  return Error::usage("unknown activation mode")
      .with_expected("f32, a8 or a16")
      .with_found(std::string(name));
}

QuantisedActivation quantise(const Matrix& x, Mode mode) {
  TRILITH_CHECK(mode != Mode::kF32);
  QuantisedActivation result;
  result.rows = x.rows;
  result.cols = x.cols;
  result.codes.resize(x.values.size());
  result.scales.resize(static_cast<size_t>(x.rows));
  for (int64_t t = 0; t < x.rows; ++t) {
    const double scale = row_scale(x.row(t), x.cols, mode);
    result.scales[static_cast<size_t>(t)] = scale;
    int32_t* codes = result.codes.data() + t * x.cols;
    for (int64_t k = 0; k < x.cols; ++k) {
      codes[k] = static_cast<int32_t>(code_of(x.row(t)[k] * scale, mode));
    }
  }
  return result;
}

double tie_width(Mode mode) { return mode == Mode::kA8 ? 0x1p-12 : 0x1p-4; }

CodeMatch match_code(double scaled, int32_t other, Mode mode) {
  const double code = code_of(scaled, mode);
  const double found = other;
  if (found == code) return CodeMatch::kEqual;
  const CodeRange range = code_range(mode);
  if (std::fabs(found - code) != 1 || found < range.lowest || found > range.highest) {
    return CodeMatch::kDifferent;
  }
  const double tie = (code + found) / 2;
  return std::fabs(scaled - tie) <= tie_width(mode) ? CodeMatch::kTie : CodeMatch::kDifferent;
}

CodeComparison compare_codes(const Matrix& x, std::span<const int32_t> other, Mode mode) {
  TRILITH_CHECK(other.size() == x.values.size());
  CodeComparison result;
  for (int64_t t = 0; t < x.rows; ++t) {
    const double scale = row_scale(x.row(t), x.cols, mode);
    for (int64_t k = 0; k < x.cols; ++k) {
      const auto index = static_cast<size_t>(t * x.cols + k);
      switch (match_code(x.values[index] * scale, other[index], mode)) {
        case CodeMatch::kEqual:
          break;
        case CodeMatch::kTie:
          ++result.ties;
          break;
        case CodeMatch::kDifferent:
          if (result.different++ == 0) result.first = static_cast<int64_t>(index);
          break;
      }
    }
  }
  return result;
}

}  // namespace trilith::reference
