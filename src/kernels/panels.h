// Panels: an integer weight matrix in the order in which kernels read it. Lines of 64 bytes follow
// one another in the order of k, panels in the order of rows; one line holds 4 columns of
//   2 bits: 64 rows; byte 4r + k, bits 2f and 2f + 1: row 16f + r ("row-field": the four fields of
//           a byte belong to four rows, so a kernel masks and never shifts)
//   8 bits: 16 rows; byte 4r + k: row r
// Codes of 2 bits are weight − lowest, so Σ w·x = Σ code·x + lowest · Σ x. Rows and columns that
// fill up a panel hold code 0 and are never read as results. Owns its data; immutable once packed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/aligned_buffer.h"
#include "kernels/kernel_set.h"

namespace trilith::kernels {

struct Panels {
  int bits = 2;  // 2 or 8
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t panel_count = 0;
  int64_t lines = 0;              // of one panel: ceil(cols / 4)
  int32_t code_offset = 0;        // −lowest for 2 bits, 0 for 8
  std::vector<int32_t> row_sums;  // Σ_k w, padded with 0 to whole panels
  AlignedBuffer data;

  int64_t panel_rows() const { return bits == 2 ? kPanel2Rows : kPanel8Rows; }
  int64_t padded_rows() const { return panel_count * panel_rows(); }
  int64_t padded_cols() const { return lines * kLineColumns; }
  int64_t panel_bytes() const { return lines * kLineBytes; }
};

// `weights` is [rows, cols] row-major. Two bits when largest − smallest ≤ 3, else eight.
// Refuses matrices wider than kMaxPanelColumns.
Result<Panels> pack_panels(std::span<const int8_t> weights, int64_t rows, int64_t cols);

// acc[t · acc_stride + n] for the panels [first, first + count), counted from the first of them.
void panel_dot(const KernelSet& set, const Panels& panels, int64_t first, int64_t count,
               const int8_t* x, int64_t x_stride, int64_t tokens, const int32_t* subtract,
               int32_t* acc, int64_t acc_stride);

}  // namespace trilith::kernels
