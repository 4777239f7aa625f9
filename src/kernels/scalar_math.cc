#include "kernels/scalar_math.h"

#include <limits>

namespace trilith::kernels {
namespace {

constexpr double kLn2High = 0x1.62e42fefa38p-1;   // 42 bits: n · kLn2High is exact for |n| < 2^11
constexpr double kLn2Low = 0x1.ef35793c7673p-45;  // ln 2 − kLn2High
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kRoundMagic64 = 0x1.8p52;

double round_half_even_64(double value) { return (value + kRoundMagic64) - kRoundMagic64; }

double power_of_two(int64_t exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// x − n·π/2 as a double, for n = round(x · 2/π). π/2 in three parts: 33 bits, 33 bits and the rest,
// so that the first two products are exact for |n| < 2^20 and off by less than 2^-70 · n beyond.
struct Reduced {
  double r;
  int quadrant;
};

Reduced reduce(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kFirst = 0x1.921fb544p+0;
  constexpr double kSecond = 0x1.0b4611a6p-34;
  constexpr double kThird = 0x1.3198a2e037073p-69;
  const double n = round_half_even_64(x * kTwoOverPi);
  double r = std::fma(n, -kFirst, x);
  r = std::fma(n, -kSecond, r);
  r = std::fma(n, -kThird, r);
  return {r, static_cast<int>(static_cast<int64_t>(n) & 3)};
}

// Taylor series on |r| ≤ π/4: the first term left out is below 2^-57 of the result.
double sin_series(double r) {
  const double s = r * r;
  double q = 1.0 / 355687428096000.0;  // 1/17!
  q = q * s - 1.0 / 1307674368000.0;
  q = q * s + 1.0 / 6227020800.0;
  q = q * s - 1.0 / 39916800.0;
  q = q * s + 1.0 / 362880.0;
  q = q * s - 1.0 / 5040.0;
  q = q * s + 1.0 / 120.0;
  q = q * s - 1.0 / 6.0;
  return r + r * (s * q);
}

double cos_series(double r) {
  const double s = r * r;
  double q = 1.0 / 20922789888000.0;  // 1/16!
  q = q * s - 1.0 / 87178291200.0;
  q = q * s + 1.0 / 479001600.0;
  q = q * s - 1.0 / 3628800.0;
  q = q * s + 1.0 / 40320.0;
  q = q * s - 1.0 / 720.0;
  q = q * s + 1.0 / 24.0;
  return 1.0 - (0.5 * s - s * s * q);
}

}  // namespace

double exp_f64(double x) {
  if (x != x) return std::numeric_limits<double>::quiet_NaN();
  if (x > 709.8) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0.0;
  const double n = round_half_even_64(x * kLog2E);
  double r = std::fma(n, -kLn2High, x);
  r = std::fma(n, -kLn2Low, r);
  // Taylor to degree 13: on |r| ≤ ln2/2 the rest is below 2^-57.
  double q = 1.0 / 6227020800.0;
  q = q * r + 1.0 / 479001600.0;
  q = q * r + 1.0 / 39916800.0;
  q = q * r + 1.0 / 3628800.0;
  q = q * r + 1.0 / 362880.0;
  q = q * r + 1.0 / 40320.0;
  q = q * r + 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  const double p = 1.0 + (r + r * r * q);
  const auto exponent = static_cast<int64_t>(n);
  const int64_t half = exponent >> 1;
  return (p * power_of_two(half)) * power_of_two(exponent - half);
}

double log_f64(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = 0;
  if (bits < (uint64_t{1} << 52)) {  // subnormal
    bits = std::bit_cast<uint64_t>(x * 0x1p54);
    exponent = -54;
  }
  // x = 2^exponent · m with m in [√½, √2).
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdULL;
  const auto shift = static_cast<int64_t>(bits - kSqrtHalf) >> 52;
  exponent += shift;
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(shift) << 52));
  // log m = 2 atanh(s), s = (m − 1) / (m + 1), |s| ≤ 0.172; written as f − s·(f − R) to keep f
  // exact.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double q = 2.0 / 25.0;
  for (int k = 23; k >= 3; k -= 2) q = q * z + 2.0 / k;
  const double rest = q * z;  // 2·(z/3 + z²/5 + …)
  const double n = static_cast<double>(exponent);
  const double low = n * kLn2Low - s * (f - rest);
  return n * kLn2High + (f + low);
}

double sin_f64(double x) {
  const Reduced a = reduce(x);
  switch (a.quadrant) {
    case 0:
      return sin_series(a.r);
    case 1:
      return cos_series(a.r);
    case 2:
      return -sin_series(a.r);
    default:
      return -cos_series(a.r);
  }
}

double cos_f64(double x) {
  const Reduced a = reduce(x);
  switch (a.quadrant) {
    case 0:
      return cos_series(a.r);
    case 1:
      return -sin_series(a.r);
    case 2:
      return -cos_series(a.r);
    default:
      return sin_series(a.r);
  }
}

double pow_f64(double x, double y) { return exp_f64(y * log_f64(x)); }

}  // namespace trilith::kernels
