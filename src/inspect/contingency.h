// What the row of a table of counts tells of the column: mutual information, as it is measured of
// fields of bytes (stored_bytes.h) and of codes (code_statistics.h). Miller's correction takes off
// what a finite sample of independent draws shows on average (Miller 1955).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace trilith::inspect {

constexpr size_t kBins = 16;  // columns: the values of half a byte
using CountRow = std::array<uint64_t, kBins>;

struct MutualInformation {
  double nats = 0;  // of all pairs together; may be below 0 by chance
  uint64_t pairs = 0;
  double nats_each() const { return pairs == 0 ? 0 : nats / static_cast<double>(pairs); }
};
MutualInformation mutual_information(std::span<const CountRow> table);

double n_log_n(uint64_t n);  // 0 at 0

}  // namespace trilith::inspect
