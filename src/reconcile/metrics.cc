#include "reconcile/metrics.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"

namespace trilith::reconcile {
namespace {

// Error against energy of one row, column or matrix. A row that should be zero and is not has no
// relative error; it is given infinity so that it cannot hide.
double relative(double error_squared, double energy) {
  if (error_squared == 0) return 0;
  if (energy == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(error_squared / energy);
}

double quantile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = static_cast<std::ptrdiff_t>(std::llround(share * last));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return static_cast<double>(values[static_cast<size_t>(at)]);
}

struct Sums {
  std::vector<double> column_error, column_energy;
  double error = 0, energy = 0, product = 0, target_energy = 0;
  double signed_error = 0, absolute_error = 0;
  int64_t equal = 0;
};

}  // namespace

Difference compare(int64_t rows, int64_t cols, std::span<const float> reference,
                   std::span<const float> target, const ClassicTolerance& classic) {
  const auto count = static_cast<size_t>(rows * cols);
  TRILITH_CHECK(reference.size() == count && target.size() == count);
  Difference result{.rows = rows, .cols = cols};
  Sums sums;
  sums.column_error.resize(static_cast<size_t>(cols));
  sums.column_energy.resize(static_cast<size_t>(cols));
  std::vector<float> absolute;
  absolute.reserve(count);
  result.worst_token_rel = -1;
  for (int64_t row = 0; row < rows; ++row) {
    double row_error = 0;
    double row_energy = 0;
    for (int64_t col = 0; col < cols; ++col) {
      const auto at = static_cast<size_t>(row * cols + col);
      const double r = static_cast<double>(reference[at]);
      const double y = static_cast<double>(target[at]);
      if (std::bit_cast<uint32_t>(reference[at]) == std::bit_cast<uint32_t>(target[at])) {
        ++sums.equal;
      }
      if (!std::isfinite(r) || !std::isfinite(y)) {
        const bool same = (std::isnan(r) && std::isnan(y)) || r == y;
        if (!same) {
          ++result.nonfinite;
          result.classic_pass = false;
        }
        continue;
      }
      const double error = y - r;
      const double magnitude = std::fabs(error);
      absolute.push_back(static_cast<float>(magnitude));
      if (magnitude > result.max_abs) {
        result.max_abs = magnitude;
        result.max_row = row;
        result.max_col = col;
      }
      if (magnitude > classic.atol + classic.rtol * std::fabs(r)) result.classic_pass = false;
      row_error += error * error;
      row_energy += r * r;
      sums.column_error[static_cast<size_t>(col)] += error * error;
      sums.column_energy[static_cast<size_t>(col)] += r * r;
      sums.product += y * r;
      sums.target_energy += y * y;
      sums.signed_error += r < 0 ? -error : error;
      sums.absolute_error += magnitude;
    }
    sums.error += row_error;
    sums.energy += row_energy;
    const double rel = relative(row_error, row_energy);
    if (rel > result.worst_token_rel) {
      result.worst_token_rel = rel;
      result.worst_token = row;
    }
  }
  result.worst_token_rel = std::max(result.worst_token_rel, 0.0);
  for (int64_t col = 0; col < cols; ++col) {
    const double rel = relative(sums.column_error[static_cast<size_t>(col)],
                                sums.column_energy[static_cast<size_t>(col)]);
    if (rel > result.worst_channel_rel) {
      result.worst_channel_rel = rel;
      result.worst_channel = col;
    }
  }
  result.rel_l2 = relative(sums.error, sums.energy);
  if (sums.energy > 0) result.alpha = sums.product / sums.energy;
  if (sums.energy > 0 && sums.target_energy > 0) {
    result.cos = sums.product / std::sqrt(sums.energy * sums.target_energy);
  } else if (sums.energy != sums.target_energy) {
    result.cos = 0;
  }
  if (sums.absolute_error > 0) result.signed_bias = sums.signed_error / sums.absolute_error;
  result.q999 = quantile(absolute, 0.999);
  result.q99 = quantile(absolute, 0.99);
  result.q50 = quantile(absolute, 0.5);
  if (count > 0) result.bit_equal = static_cast<double>(sums.equal) / static_cast<double>(count);
  return result;
}

Json to_json(const Difference& d) {
  return Json::object({{"n", d.count()},
                       {"rel_l2", d.rel_l2},
                       {"cos", d.cos},
                       {"alpha", d.alpha},
                       {"signed_bias", d.signed_bias},
                       {"max_abs", d.max_abs},
                       {"max_at", Json::array(std::vector<int64_t>{d.max_row, d.max_col})},
                       {"q50", d.q50},
                       {"q99", d.q99},
                       {"q999", d.q999},
                       {"worst_token", d.worst_token},
                       {"worst_token_rel", d.worst_token_rel},
                       {"worst_channel", d.worst_channel},
                       {"worst_channel_rel", d.worst_channel_rel},
                       {"bit_equal", d.bit_equal},
                       {"nonfinite", d.nonfinite}});
}

}  // namespace trilith::reconcile
