// How two matrices of the same point differ: the smallest set of measures that are not all blind to
// the same fault (docs/RECONCILE.md, "What each measure is blind to"). All sums in double, in one
// pass over rows. A value that is NaN or infinite in one matrix and not equal in the other counts
// as non-finite and never as agreement.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/json.h"

namespace trilith::reconcile {

struct Difference {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t nonfinite = 0;   // elements that differ and are not finite on either side
  double rel_l2 = 0;       // ‖y − r‖ / ‖r‖, finite elements
  double cos = 1;          // of y and r
  double alpha = 1;        // best-fit scale ⟨y, r⟩ / ⟨r, r⟩
  double signed_bias = 0;  // Σ sgn(r)(y − r) / Σ|y − r|, in [−1, 1]
  double max_abs = 0;
  int64_t max_row = 0;
  int64_t max_col = 0;
  double q50 = 0, q99 = 0, q999 = 0;  // of |y − r|
  int64_t worst_token = 0;            // row with the largest relative error
  double worst_token_rel = 0;
  int64_t worst_channel = 0;  // column with the largest relative error
  double worst_channel_rel = 0;
  double bit_equal = 1;      // share of elements with equal bits
  bool classic_pass = true;  // |y − r| ≤ atol + rtol·|r| everywhere

  int64_t count() const { return rows * cols; }
};

struct ClassicTolerance {
  double rtol = 1e-3;
  double atol = 1e-3;
};

// `reference` and `target` are [rows, cols] row-major.
Difference compare(int64_t rows, int64_t cols, std::span<const float> reference,
                   std::span<const float> target, const ClassicTolerance& classic = {});

// The metrics of one point as the ledger spells them.
Json to_json(const Difference& difference);

}  // namespace trilith::reconcile
