#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trilith {
namespace {

TEST(Half, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f32_from_f16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f32_from_f16(f16_from_f32(value))));
    } else {
      EXPECT_EQ(f16_from_f32(value), bits);
    }
  }
}

TEST(Half, F16AgreesWithTheCompilersOwnConversion) {
  // Every 997th float pattern, ties and both ends of the range included by the stride.
  for (uint64_t bits = 0; bits <= 0xffffffffULL; bits += 997) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    const double exact = value;
    const uint16_t ours = f16_from_f32(value);
    const float back = f32_from_f16(ours);
    if (std::isinf(back)) {
      EXPECT_GE(std::fabs(exact), 65520.0) << value;
      continue;
    }
    // No neighbour is nearer; at a tie the even pattern was taken.
    const double error = std::fabs(back - exact);
    for (const int step : {-1, 1}) {
      const auto neighbour = static_cast<uint16_t>(ours + step);
      const float other = f32_from_f16(neighbour);
      if (std::isnan(other) || std::isinf(other) || std::signbit(other) != std::signbit(back))
        continue;
      const double other_error = std::fabs(other - exact);
      EXPECT_TRUE(error < other_error || (error == other_error && (ours & 1) == 0)) << value;
    }
  }
}

TEST(Half, Bf16RoundsHalfToEven) {
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // tie, even below
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // tie, even above
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f32(std::nanf("")))));
}

}  // namespace
}  // namespace trilith
