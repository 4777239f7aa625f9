#include "inspect/overdispersion.h"

#include <numeric>
#include <vector>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

// Lines without a single mark, or of marks alone, are left out: that is padding read as weights.
double variance_ratio(std::vector<uint64_t> counts, double trials) {
  std::erase_if(counts, [trials](uint64_t count) {
    return count == 0 || static_cast<double>(count) == trials;
  });
  const double n = static_cast<double>(counts.size());
  if (counts.size() < 2) return 1;
  const double mean =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0})) / n;
  const double binomial = mean * (1 - mean / trials);
  double squares = 0;
  for (const uint64_t count : counts) {
    const double difference = static_cast<double>(count) - mean;
    squares += difference * difference;
  }
  return squares / (n - 1) / binomial;
}

}  // namespace

Dispersion measure_dispersion(std::span<const uint8_t> marked, int64_t rows, int64_t cols) {
  std::vector<uint64_t> row_counts(static_cast<size_t>(rows));
  std::vector<uint64_t> col_counts(static_cast<size_t>(cols));
  for (size_t n = 0; n < row_counts.size(); ++n) {
    const std::span<const uint8_t> row = marked.subspan(n * col_counts.size(), col_counts.size());
    uint64_t count = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      count += row[k];
      col_counts[k] += row[k];
    }
    row_counts[n] = count;
  }
  Dispersion dispersion;
  dispersion.row_ratio = variance_ratio(row_counts, static_cast<double>(cols));
  dispersion.col_ratio = variance_ratio(col_counts, static_cast<double>(rows));
  dispersion.nats = overdispersion_nats(dispersion.row_ratio, row_counts.size()) +
                    overdispersion_nats(dispersion.col_ratio, col_counts.size());
  return dispersion;
}

}  // namespace trilith::inspect
