// Which of three codes is zero. Weights are symmetric, so the two sign codes are equally frequent
// while the zero code need not be. Where all three are alike, rows may still differ in magnitude:
// then the counts of the two sign codes rise and fall together from row to row and zero moves
// against both. Which sign is which is not in these statistics.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace trilith::inspect {

struct ZeroCodeFinding {
  // For each choice of zero: nats against "the other two are equally frequent". Real matrices have
  // a small mean; a difference of 1 % of the mass counts as two standard deviations.
  std::array<double, 3> unequal{};
  // For each choice of zero: z-score of the covariance of the other two codes' row counts, over the
  // one that a fixed composition gives.
  std::array<double, 3> covariance{};
  std::array<double, 3> nats{};  // for each choice, the larger the better
  int zero = 0;                  // index of the best choice
  double lead = 0;               // nats over the next
};

// `counts`: how often the three codes occur. `row_counts`: three counts a row; may be empty.
ZeroCodeFinding find_zero_code(const std::array<uint64_t, 3>& counts,
                               std::span<const std::array<uint32_t, 3>> row_counts);

}  // namespace trilith::inspect
