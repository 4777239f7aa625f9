// Integer dots over panels, as plainly as possible: what every other set is held against.
#include "kernels/kernel_set.h"
#include "kernels/scalar/scalar_kernels.h"

namespace trilith::kernels::scalar {

void panel2_dot(const PanelDot& dot) {
  count_call(&scalar_counters, kOpPanel2Dot);
  for (int64_t t = 0; t < dot.tokens; ++t) {
    const int8_t* x = dot.x + t * dot.x_stride;
    for (int64_t p = 0; p < dot.panel_count; ++p) {
      int32_t sums[kPanel2Rows] = {};
      const uint8_t* line = dot.panels + p * dot.lines * kLineBytes;
      for (int64_t b = 0; b < dot.lines; ++b, line += kLineBytes) {
        for (int64_t i = 0; i < kLineBytes; ++i) {
          const int32_t value = x[b * kLineColumns + i % kLineColumns];
          for (int64_t field = 0; field < 4; ++field) {
            const int32_t code = (line[i] >> (2 * field)) & 3;
            sums[16 * field + i / kLineColumns] += code * value;
          }
        }
      }
      int32_t* acc = dot.acc + t * dot.acc_stride + p * kPanel2Rows;
      for (int64_t r = 0; r < kPanel2Rows; ++r) acc[r] = sums[r] - dot.subtract[t];
    }
  }
}

void panel8_dot(const PanelDot& dot) {
  count_call(&scalar_counters, kOpPanel8Dot);
  for (int64_t t = 0; t < dot.tokens; ++t) {
    const int8_t* x = dot.x + t * dot.x_stride;
    for (int64_t p = 0; p < dot.panel_count; ++p) {
      int32_t sums[kPanel8Rows] = {};
      const uint8_t* line = dot.panels + p * dot.lines * kLineBytes;
      for (int64_t b = 0; b < dot.lines; ++b, line += kLineBytes) {
        for (int64_t i = 0; i < kLineBytes; ++i) {
          const int32_t weight = static_cast<int8_t>(line[i]);
          sums[i / kLineColumns] += weight * x[b * kLineColumns + i % kLineColumns];
        }
      }
      int32_t* acc = dot.acc + t * dot.acc_stride + p * kPanel8Rows;
      for (int64_t r = 0; r < kPanel8Rows; ++r) acc[r] = sums[r] - dot.subtract[t];
    }
  }
}

void scale_a8(const ScaleRows& rows) {
  count_call(&scalar_counters, kOpScaleA8);
  for (int64_t n = 0; n < rows.count; ++n) {
    float value = (static_cast<float>(rows.acc[n]) * rows.token_scale) * rows.row_scale[n];
    if (rows.bias != nullptr) value += rows.bias[n];
    rows.out[n] = canonical(value);
  }
}

void scale_a16(const ScaleRows& rows) {
  count_call(&scalar_counters, kOpScaleA16);
  for (int64_t n = 0; n < rows.count; ++n) {
    const double acc =
        static_cast<double>(rows.acc[n]) * 256.0 +
        (static_cast<double>(rows.low[n]) + static_cast<double>(rows.row_sums[n]) * 128.0);
    float value = (static_cast<float>(acc) * rows.token_scale) * rows.row_scale[n];
    if (rows.bias != nullptr) value += rows.bias[n];
    rows.out[n] = canonical(value);
  }
}

}  // namespace trilith::kernels::scalar
