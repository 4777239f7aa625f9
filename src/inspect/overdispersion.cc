#include "inspect/overdispersion.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "inspect/numbers.h"

namespace trilith::inspect {

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

Dispersion measure_dispersion(std::span<const uint8_t> marked, int64_t rows, int64_t cols,
                              int64_t run) {
  if (run == 0) run = cols;
  const auto runs = static_cast<size_t>(cols / run);
  std::vector<uint64_t> row_counts(static_cast<size_t>(rows) * runs);
  std::vector<uint64_t> col_counts(static_cast<size_t>(cols));
  const size_t width = col_counts.size();
  std::vector<uint8_t> column_sums(width);  // of at most 255 rows; bytes add up many at a time
  for (size_t n = 0; n < static_cast<size_t>(rows); ++n) {
    const uint8_t* const row = marked.data() + n * width;
    for (size_t r = 0; r < runs; ++r) {
      const uint8_t* const part = row + r * static_cast<size_t>(run);
      uint32_t count = 0;
      for (size_t k = 0; k < static_cast<size_t>(run); ++k) count += part[k];
      row_counts[n * runs + r] = count;
    }
    for (size_t k = 0; k < width; ++k)
      column_sums[k] = static_cast<uint8_t>(column_sums[k] + row[k]);
    if (n % 255 != 254 && n + 1 != static_cast<size_t>(rows)) continue;
    for (size_t k = 0; k < width; ++k) col_counts[k] += column_sums[k];
    std::fill(column_sums.begin(), column_sums.end(), uint8_t{0});
  }
  Dispersion dispersion;
  dispersion.row_ratio = variance_ratio(row_counts, static_cast<double>(run));
  dispersion.col_ratio = variance_ratio(col_counts, static_cast<double>(rows));
  dispersion.nats = overdispersion_nats(dispersion.row_ratio, row_counts.size()) +
                    overdispersion_nats(dispersion.col_ratio, col_counts.size());
  return dispersion;
}

}  // namespace trilith::inspect
