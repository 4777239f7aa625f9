#include "inspect/contingency.h"

#include <cmath>

namespace trilith::inspect {

double n_log_n(uint64_t n) {
  return n == 0 ? 0 : static_cast<double>(n) * std::log(static_cast<double>(n));
}

MutualInformation mutual_information(std::span<const CountRow> table) {
  CountRow columns{};
  MutualInformation result;
  int used_rows = 0;
  for (const CountRow& row : table) {
    uint64_t sum = 0;
    for (size_t bin = 0; bin < kBins; ++bin) {
      result.nats += n_log_n(row[bin]);
      columns[bin] += row[bin];
      sum += row[bin];
    }
    result.nats -= n_log_n(sum);
    used_rows += sum > 0;
    result.pairs += sum;
  }
  if (result.pairs == 0) return {};
  int used_columns = 0;
  for (const uint64_t column : columns) {
    result.nats -= n_log_n(column);
    used_columns += column > 0;
  }
  result.nats += n_log_n(result.pairs) - 0.5 * (used_rows - 1) * (used_columns - 1);
  return result;
}

}  // namespace trilith::inspect
