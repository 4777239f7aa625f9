#include "inspect/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trilith::inspect {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double shared = static_cast<double>(begin + end - 1) / 2;
    for (size_t i = begin; i < end; ++i) result[order[i]] = shared;
    begin = end;
  }
  return result;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 3) return 0;
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double correlation_nats(double rho, uint64_t n) {
  const double unexplained = std::max(1 - rho * rho, 1e-12);  // finite for identical orders
  return -0.5 * static_cast<double>(n) * std::log(unexplained);
}

double overdispersion_nats(double ratio, uint64_t n) {
  if (!(ratio > 1)) return 0;
  return 0.5 * static_cast<double>(n) * (ratio - 1 - std::log(ratio));
}

double unequal_nats(uint64_t a, uint64_t b) {
  const double total = static_cast<double>(a) + static_cast<double>(b);
  const auto term = [total](uint64_t count) {
    const double x = static_cast<double>(count);
    return count == 0 ? 0.0 : x * std::log(2 * x / total);
  };
  return total > 0 ? term(a) + term(b) : 0;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle),
                   values.end());
  return values[middle];
}

void Shuffler::shuffle(std::span<double> values) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random_.below(i)]);
}

}  // namespace trilith::inspect
