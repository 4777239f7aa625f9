// Our exp, log, sin, cos and pow against the C library, in units in the last place.
#include "kernels/scalar_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernel_set.h"

namespace trilith::kernels {
namespace {

// Distance from `value` to `truth` in ulp of the float at truth.
double ulp_error_f32(float value, double truth) {
  int exponent = 0;
  std::frexp(truth, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::abs(static_cast<double>(value) - truth) / ulp;
}

double ulp_error_f64(double value, double truth) {
  const double ulp = std::abs(truth) - std::nextafter(std::abs(truth), 0.0);
  return ulp == 0 ? std::abs(value) : std::abs(value - truth) / ulp;
}

TEST(ScalarMath, ExpFloatOverItsRange) {
  double worst_normal = 0;
  double worst_subnormal = 0;
  // Every 509th float of both signs up to |x| = 110, and everything beyond by its ends.
  for (uint32_t bits = 0; bits < 0x42dc0000U; bits += 509) {
    for (const float sign : {1.0F, -1.0F}) {
      const float x = sign * std::bit_cast<float>(bits);
      const double truth = std::exp(static_cast<double>(x));
      const float value = exp_f32(x);
      if (truth > static_cast<double>(std::numeric_limits<float>::max())) {
        EXPECT_GE(value, std::numeric_limits<float>::max());
      } else if (truth >= static_cast<double>(std::numeric_limits<float>::min())) {
        worst_normal = std::max(worst_normal, ulp_error_f32(value, truth));
      } else {
        worst_subnormal = std::max(worst_subnormal, ulp_error_f32(value, truth));
      }
    }
  }
  // Half an ulp of the last sum, half of 2^-27 · 2^24 for the series, the rest from r and the fma
  // chain; measured 0.993 and 0.724.
  EXPECT_LT(worst_normal, 1.0);
  EXPECT_LT(worst_subnormal, 1.0);
  RecordProperty("normal", std::to_string(worst_normal));
  RecordProperty("subnormal", std::to_string(worst_subnormal));
}

TEST(ScalarMath, ExpFloatAtItsEnds) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_EQ(exp_f32(std::numeric_limits<float>::infinity()),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-std::numeric_limits<float>::quiet_NaN())),
            kCanonicalNanBits);
}

TEST(ScalarMath, DoubleFunctions) {
  double worst_exp = 0;
  double worst_log = 0;
  double worst_sin = 0;
  double worst_cos = 0;
  for (int i = 0; i < 400000; ++i) {
    const double t = i / 400000.0;
    const double x = -700.0 + 1400.0 * t + 1e-3 * std::sin(i);
    worst_exp = std::max(worst_exp, ulp_error_f64(exp_f64(x), std::exp(x)));
    const double positive = std::exp(-700.0 + 1400.0 * t);
    worst_log = std::max(worst_log, ulp_error_f64(log_f64(positive), std::log(positive)));
    const double near_one = 0.5 + 1.5 * t;
    if (near_one != 1.0) {
      worst_log = std::max(worst_log, ulp_error_f64(log_f64(near_one), std::log(near_one)));
    }
    // RoPE's angles: position · frequency, up to 2^20 positions, and small ones.
    const double angle = (i % 2 == 0 ? 1048576.0 : 8.0) * t;
    worst_sin = std::max(worst_sin, std::abs(sin_f64(angle) - std::sin(angle)) / 0x1p-53);
    worst_cos = std::max(worst_cos, std::abs(cos_f64(angle) - std::cos(angle)) / 0x1p-53);
  }
  EXPECT_LT(worst_exp, 2.0);
  EXPECT_LT(worst_log, 2.0);
  EXPECT_LE(worst_sin, 2.0);  // absolute, in units of 2^-53: what a rotation sees
  EXPECT_LE(worst_cos, 2.0);
}

TEST(ScalarMath, PowForRopeFrequencies) {
  for (const double theta : {10000.0, 100000.0, 500000.0, 1000000.0, 1e7}) {
    for (const int dim : {32, 64, 128, 256}) {
      for (int i = 0; i < dim; i += 2) {
        const double y = -static_cast<double>(i) / dim;
        const double truth = std::pow(theta, y);
        // The product y · ln x carries an error of half an ulp of itself.
        const double bound = (std::abs(y * std::log(theta)) + 2.0) * 0x1p-52;
        EXPECT_LE(std::abs(pow_f64(theta, y) / truth - 1.0), bound) << theta << " " << y;
      }
    }
  }
}

}  // namespace
}  // namespace trilith::kernels
