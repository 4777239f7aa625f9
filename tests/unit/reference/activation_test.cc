#include "reference/activation.h"

#include <gtest/gtest.h>

namespace trilith::reference {
namespace {

Matrix row_of(std::vector<double> values) {
  Matrix matrix(1, static_cast<int64_t>(values.size()));
  matrix.values = std::move(values);
  return matrix;
}

TEST(Activation, A8RoundsHalfToEvenAndReachesMinus127) {
  // absmax 127: the scale is 1 and the codes are the rounded values.
  const auto result =
      quantise(row_of({127, -127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49}), Mode::kA8);
  EXPECT_EQ(result.scales[0], 1.0);
  EXPECT_EQ(result.codes, (std::vector<int32_t>{127, -127, 0, 2, 2, 0, -2, -2, 0}));
}

TEST(Activation, A8ScaleHasAFloorAndA16HasNone) {
  const Matrix tiny = row_of({1e-6, -5e-7});
  EXPECT_EQ(quantise(tiny, Mode::kA8).scales[0], 127 / 1e-5);
  EXPECT_EQ(quantise(tiny, Mode::kA8).codes, (std::vector<int32_t>{13, -6}));
  EXPECT_EQ(quantise(tiny, Mode::kA16).codes, (std::vector<int32_t>{32767, -16384}));
  const auto zeros = quantise(row_of({0, 0}), Mode::kA16);
  EXPECT_EQ(zeros.scales[0], 1.0);
  EXPECT_EQ(zeros.codes, (std::vector<int32_t>{0, 0}));
}

TEST(Activation, EveryTokenHasItsOwnScale) {
  Matrix x(2, 2);
  x.values = {1, 0.5, 100, 50};
  const auto result = quantise(x, Mode::kA8);
  EXPECT_EQ(result.codes, (std::vector<int32_t>{127, 64, 127, 64}));
  EXPECT_EQ(result.scales[0], 127.0);
  EXPECT_EQ(result.scales[1], 1.27);
}

TEST(Activation, CodesMayDifferAtATieOnly) {
  const double inside = 0x1p-12;
  const double outside = 0x1.01p-12;
  EXPECT_EQ(match_code(3.5 - inside, 3, Mode::kA8), CodeMatch::kEqual);
  EXPECT_EQ(match_code(3.5 - inside, 4, Mode::kA8), CodeMatch::kTie);
  EXPECT_EQ(match_code(3.5 - outside, 4, Mode::kA8), CodeMatch::kDifferent);
  EXPECT_EQ(match_code(3.5 + inside, 3, Mode::kA8), CodeMatch::kTie);
  EXPECT_EQ(match_code(-3.5 - inside, -3, Mode::kA8), CodeMatch::kTie);
  EXPECT_EQ(match_code(3.5 + inside, 5, Mode::kA8), CodeMatch::kDifferent);
  EXPECT_EQ(match_code(3.0, 2, Mode::kA8), CodeMatch::kDifferent);
  EXPECT_EQ(match_code(127.5, 128, Mode::kA8), CodeMatch::kDifferent);  // outside the range
  EXPECT_EQ(match_code(300.45, 301, Mode::kA16), CodeMatch::kTie);
  EXPECT_EQ(match_code(300.40, 301, Mode::kA16), CodeMatch::kDifferent);
}

TEST(Activation, ComparisonCountsTiesAndNamesTheFirstWrongCode) {
  const Matrix x = row_of({127, 2.5, 7, 9});
  const std::vector<int32_t> other{127, 3, 7, 10};
  const CodeComparison result = compare_codes(x, other, Mode::kA8);
  EXPECT_EQ(result.ties, 1);
  EXPECT_EQ(result.different, 1);
  EXPECT_EQ(result.first, 3);
}

TEST(Activation, ModesByName) {
  for (const Mode mode : {Mode::kF32, Mode::kA8, Mode::kA16}) {
    EXPECT_EQ(*mode_from_name(mode_name(mode)), mode);
  }
  EXPECT_FALSE(mode_from_name("a4").ok());
}

}  // namespace
}  // namespace trilith::reference
