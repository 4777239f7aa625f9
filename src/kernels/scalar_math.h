// exp, log, sin, cos and pow of this project, so that no result depends on a C library: the same
// bits wherever IEEE arithmetic is. The float exp is what kernels of every instruction set compute;
// the double ones make tables (RoPE) and sampling probabilities.
//
// Held by tests/unit/kernels/scalar_math_test.cc against the C library in double: exp_f32 below 1
// ulp (measured 0.993, 0.724 for subnormal results), exp_f64 and log_f64 below 2 ulp, sin_f64 and
// cos_f64 within 2^-52, pow_f64 within (|y · ln x| + 2) · 2^-52 of itself.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace trilith::kernels {

inline constexpr uint32_t kCanonicalNanBits = 0x7fc00000U;

inline float canonical(float value) {
  return value != value ? std::bit_cast<float>(kCanonicalNanBits) : value;
}

// 1.5 · 2^23: adding and subtracting it rounds |x| < 2^22 to an integer, ties to even.
inline constexpr float kRoundMagic = 12582912.0F;
inline float round_half_even(float value) { return (value + kRoundMagic) - kRoundMagic; }

namespace exp_constants {
inline constexpr float kLowest = -104.0F;  // exp below rounds to 0
inline constexpr float kHighest = 89.0F;   // exp above is infinite
inline constexpr float kLog2E = 0x1.715476p+0F;
// ln 2 = kLn2High + kLn2Low; n · kLn2High is exact inside the fma.
inline constexpr float kLn2High = 0x1.62e43p-1F;
inline constexpr float kLn2Low = -0x1.05c61p-29F;
// 1/2! … 1/7!: on |r| ≤ ln2/2 the rest of the series is below 2^-27 of e^r.
inline constexpr float kC2 = 0.5F;
inline constexpr float kC3 = 0x1.555556p-3F;
inline constexpr float kC4 = 0x1.555556p-5F;
inline constexpr float kC5 = 0x1.111112p-7F;
inline constexpr float kC6 = 0x1.6c16c2p-10F;
inline constexpr float kC7 = 0x1.a01a02p-13F;
}  // namespace exp_constants

inline float exp_f32(float x) {
  namespace c = exp_constants;
  if (x != x) return std::bit_cast<float>(kCanonicalNanBits);
  const float bounded = x < c::kLowest ? c::kLowest : (x > c::kHighest ? c::kHighest : x);
  const float n = round_half_even(bounded * c::kLog2E);
  float r = std::fma(n, -c::kLn2High, bounded);
  r = std::fma(n, -c::kLn2Low, r);
  float q = std::fma(c::kC7, r, c::kC6);
  q = std::fma(q, r, c::kC5);
  q = std::fma(q, r, c::kC4);
  q = std::fma(q, r, c::kC3);
  q = std::fma(q, r, c::kC2);
  const float p = std::fma(q, r * r, r) + 1.0F;
  // 2^n in two exact factors, so that only the last product rounds, also to a subnormal.
  const auto exponent = static_cast<int32_t>(n);
  const int32_t half = exponent >> 1;
  const float first = std::bit_cast<float>((half + 127) << 23);
  const float second = std::bit_cast<float>((exponent - half + 127) << 23);
  return (p * first) * second;
}

double exp_f64(double x);
double log_f64(double x);  // x > 0 and finite
// |x| ≤ 2^30.
double sin_f64(double x);
double cos_f64(double x);
double pow_f64(double x, double y);  // x > 0

}  // namespace trilith::kernels
