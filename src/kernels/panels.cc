#include "kernels/panels.h"

#include <algorithm>

namespace trilith::kernels {
namespace {

void place2(std::span<const int8_t> weights, Panels& panels) {
  auto* data = panels.data.as<uint8_t>();
  for (int64_t n = 0; n < panels.rows; ++n) {
    const int64_t in_panel = n % kPanel2Rows;
    const int64_t field = in_panel / 16;
    uint8_t* base = data + n / kPanel2Rows * panels.panel_bytes() + in_panel % 16 * kLineColumns;
    const int8_t* row = weights.data() + n * panels.cols;
    for (int64_t k = 0; k < panels.cols; ++k) {
      const auto code = static_cast<unsigned>(row[k] + panels.code_offset);
      uint8_t& byte = base[k / kLineColumns * kLineBytes + k % kLineColumns];
      byte = static_cast<uint8_t>(byte | code << (2 * field));
    }
  }
}

void place8(std::span<const int8_t> weights, Panels& panels) {
  auto* data = panels.data.as<int8_t>();
  for (int64_t n = 0; n < panels.rows; ++n) {
    int8_t* base = data + n / kPanel8Rows * panels.panel_bytes() + n % kPanel8Rows * kLineColumns;
    const int8_t* row = weights.data() + n * panels.cols;
    for (int64_t k = 0; k < panels.cols; ++k) {
      base[k / kLineColumns * kLineBytes + k % kLineColumns] = row[k];
    }
  }
}

}  // namespace

Result<Panels> pack_panels(std::span<const int8_t> weights, int64_t rows, int64_t cols) {
  TRILITH_CHECK(rows >= 0 && cols >= 0 &&
                static_cast<uint64_t>(rows) * static_cast<uint64_t>(cols) == weights.size());
  if (cols > kMaxPanelColumns) {
    return Error::unsupported("a matrix is too wide for 32-bit accumulators")
        .with_expected("at most " + std::to_string(kMaxPanelColumns) + " columns")
        .with_found(std::to_string(cols));
  }
  Panels panels;
  panels.rows = rows;
  panels.cols = cols;
  const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
  const int lowest = weights.empty() ? 0 : *low;
  panels.bits = weights.empty() || *high - lowest <= 3 ? 2 : 8;
  panels.code_offset = panels.bits == 2 ? -lowest : 0;
  panels.panel_count = (rows + panels.panel_rows() - 1) / panels.panel_rows();
  panels.lines = (cols + kLineColumns - 1) / kLineColumns;
  panels.data = AlignedBuffer(static_cast<size_t>(panels.panel_count * panels.panel_bytes()));
  if (panels.bits == 2) {
    place2(weights, panels);
  } else {
    place8(weights, panels);
  }
  panels.row_sums.resize(static_cast<size_t>(panels.padded_rows()));
  for (int64_t n = 0; n < rows; ++n) {
    int32_t sum = 0;
    for (int64_t k = 0; k < cols; ++k) sum += weights[static_cast<size_t>(n * cols + k)];
    panels.row_sums[static_cast<size_t>(n)] = sum;
  }
  return panels;
}

void panel_dot(const KernelSet& set, const Panels& panels, int64_t first, int64_t count,
               const int8_t* x, int64_t x_stride, int64_t tokens, const int32_t* subtract,
               int32_t* acc, int64_t acc_stride) {
  const PanelDot dot = {.panels = panels.data.as<uint8_t>() + first * panels.panel_bytes(),
                        .panel_count = count,
                        .lines = panels.lines,
                        .x = x,
                        .x_stride = x_stride,
                        .tokens = tokens,
                        .subtract = subtract,
                        .acc = acc,
                        .acc_stride = acc_stride};
  panels.bits == 2 ? set.panel2_dot(dot) : set.panel8_dot(dot);
}

}  // namespace trilith::kernels
