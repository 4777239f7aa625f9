#include "reconcile/noise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/half.h"
#include "base/splitmix.h"

namespace trilith::reconcile {
namespace {

constexpr double kUnitF32 = 0x1p-24;
constexpr double kUnitF16 = 0x1p-11;
constexpr double kUnitBF16 = 0x1p-8;

template <typename Round>
bool all_fit(std::span<const float> values, Round round) {
  return std::all_of(values.begin(), values.end(),
                     [&](float value) { return std::isnan(value) || round(value) == value; });
}

bool coin(uint64_t x) { return (splitmix_finalise(x) & 1U) != 0; }

double ratio_of(double error, double floor, double average_floor) {
  if (error == 0) return 0;
  const double reference = std::max(floor, average_floor);
  if (reference == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(error / reference);
}

}  // namespace

double unit_roundoff(std::span<const float> values) {
  if (all_fit(values, [](float v) { return f32_from_bf16(bf16_from_f32(v)); })) return kUnitBF16;
  if (all_fit(values, [](float v) { return f32_from_f16(f16_from_f32(v)); })) return kUnitF16;
  return kUnitF32;
}

reference::Matrix jittered(const reference::Matrix& values, double unit, uint64_t salt) {
  reference::Matrix result = values;
  for (size_t i = 0; i < result.values.size(); ++i) {
    const double step = coin(i * kSplitMixStep + salt) ? unit : -unit;
    result.values[i] += result.values[i] * step;
  }
  return result;
}

double floor_ratio(const reference::Matrix& error, const reference::Matrix& floor) {
  TRILITH_CHECK(error.rows == floor.rows && error.cols == floor.cols);
  const auto cols = static_cast<size_t>(error.cols);
  std::vector<double> channel_error(cols), channel_floor(cols);
  std::vector<double> token_error, token_floor;
  double total_error = 0;
  double total_floor = 0;
  for (int64_t row = 0; row < error.rows; ++row) {
    double row_error = 0;
    double row_floor = 0;
    for (size_t col = 0; col < cols; ++col) {
      const double e = error.row(row)[col] * error.row(row)[col];
      const double f = floor.row(row)[col] * floor.row(row)[col];
      row_error += e;
      row_floor += f;
      channel_error[col] += e;
      channel_floor[col] += f;
    }
    token_error.push_back(row_error);
    token_floor.push_back(row_floor);
    total_error += row_error;
    total_floor += row_floor;
  }
  double worst = ratio_of(total_error, total_floor, 0);
  const double per_token = total_floor / static_cast<double>(std::max<int64_t>(error.rows, 1));
  const double per_channel = total_floor / static_cast<double>(std::max<size_t>(cols, 1));
  for (size_t i = 0; i < token_error.size(); ++i) {
    worst = std::max(worst, ratio_of(token_error[i], token_floor[i], per_token));
  }
  for (size_t i = 0; i < cols; ++i) {
    worst = std::max(worst, ratio_of(channel_error[i], channel_floor[i], per_channel));
  }
  return worst;
}

}  // namespace trilith::reconcile
