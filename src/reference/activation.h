// Activation modes: what a quantised linear does to its input before it multiplies.
//
//   f32  nothing
//   a8   per token: s = 127 / max(absmax, 1e-5), code = round-half-even(x * s), clamped to
//        [-128, 127]; what BitNet b1.58 was trained with
//   a16  per token: s = 32767 / absmax (1 for a row of zeros), same rounding; the clamp to
//        [-32767, 32767] never acts
//
// The reference quantises its own double activations. Another implementation that holds the same
// activation in float32 can land on the other side of a rounding tie, so a code may differ from the
// reference's by one where x * s lies within tie_width of the tie; such flips are counted and
// everything after them is compared from the other's codes. Any further difference is an error.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reference/matrix.h"

namespace trilith::reference {

enum class Mode { kF32, kA8, kA16 };
std::string_view mode_name(Mode mode);  // "f32", "a8", "a16"
Result<Mode> mode_from_name(std::string_view name);

struct QuantisedActivation {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<int32_t> codes;  // [rows, cols]
  std::vector<double> scales;  // [rows]: x is about code / scale
};

// `mode` is a8 or a16.
QuantisedActivation quantise(const Matrix& x, Mode mode);

// 2^-12 for a8. For a16 the same share of absmax (float32 cannot hold 32767 * x / absmax finer than
// 2^-10): 2^-4.
double tie_width(Mode mode);

// Whether `other` is a code that an implementation may hold where the reference has x * s.
enum class CodeMatch { kEqual, kTie, kDifferent };
CodeMatch match_code(double scaled, int32_t other, Mode mode);

struct CodeComparison {
  int64_t ties = 0;       // differ by one at a tie
  int64_t different = 0;  // wrong
  int64_t first = -1;     // flat index of the first wrong code
};
// The codes another implementation made of `x`, [x.rows, x.cols].
CodeComparison compare_codes(const Matrix& x, std::span<const int32_t> other, Mode mode);

}  // namespace trilith::reference
