#include "inspect/zero_code.h"

#include <algorithm>
#include <cmath>

namespace trilith::inspect {
namespace {

constexpr double kMeanSpread = 0.005;  // prior deviation of (n₊ − n₋)/(n₊ + n₋) in trained matrices
constexpr double kSignificant = 4;  // standard errors a covariance must differ from zero by
constexpr size_t kFewestRows = 30;  // below, the standard error itself is too uncertain

using Triple = std::array<double, 3>;

double against_equal(uint64_t a, uint64_t b) {
  const double total = static_cast<double>(a) + static_cast<double>(b);
  if (total == 0) return 0;
  const double difference = static_cast<double>(a) - static_cast<double>(b);
  const double spread = kMeanSpread * total;
  return difference * difference / (total + spread * spread) / 2;
}

// z-scores of the excess covariance of the pairs (1,2), (0,2), (0,1).
Triple excess_covariance(std::span<const std::array<uint32_t, 3>> rows) {
  Triple share{};
  double total = 0;
  for (const auto& row : rows) {
    for (size_t i = 0; i < 3; ++i) {
      share[i] += row[i];
      total += row[i];
    }
  }
  for (double& value : share) value /= total;
  Triple scores{};
  for (size_t zero = 0; zero < 3; ++zero) {
    const size_t a = (zero + 1) % 3;
    const size_t b = (zero + 2) % 3;
    double sum = 0;
    double squares = 0;
    for (const auto& row : rows) {
      const double length = static_cast<double>(row[0]) + row[1] + row[2];
      const double excess = (row[a] - length * share[a]) * (row[b] - length * share[b]) +
                            length * share[a] * share[b];
      sum += excess;
      squares += excess * excess;
    }
    const double n = static_cast<double>(rows.size());
    const double variance = squares / n - (sum / n) * (sum / n);
    scores[zero] = variance > 0 ? sum / n / std::sqrt(variance / n) : 0;
  }
  return scores;
}

}  // namespace

ZeroCodeFinding find_zero_code(const std::array<uint64_t, 3>& counts,
                               std::span<const std::array<uint32_t, 3>> row_counts) {
  ZeroCodeFinding finding;
  for (size_t zero = 0; zero < 3; ++zero) {
    finding.unequal[zero] = against_equal(counts[(zero + 1) % 3], counts[(zero + 2) % 3]);
    finding.nats[zero] = -finding.unequal[zero];
  }
  if (row_counts.size() >= kFewestRows) {
    finding.covariance = excess_covariance(row_counts);
    for (size_t zero = 0; zero < 3; ++zero) {
      const double signs = finding.covariance[zero];
      const double first = finding.covariance[(zero + 1) % 3];
      const double second = finding.covariance[(zero + 2) % 3];
      // Only the full pattern counts: where each row is scaled by its own mean the zero share is
      // constant, and a row's mean alone makes the sign codes move against each other.
      if (signs > kSignificant && first < -kSignificant && second < -kSignificant) {
        finding.nats[zero] += signs * signs / 2;
      }
    }
  }
  const auto best = std::max_element(finding.nats.begin(), finding.nats.end());
  finding.zero = static_cast<int>(best - finding.nats.begin());
  double next = -INFINITY;
  for (size_t i = 0; i < 3; ++i) {
    if (static_cast<int>(i) != finding.zero) next = std::max(next, finding.nats[i]);
  }
  finding.lead = *best - next;
  return finding;
}

}  // namespace trilith::inspect
