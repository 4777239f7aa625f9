#include "inspect/numbers.h"

#include <algorithm>
#include <cmath>

namespace trilith::inspect {

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
