#include "inspect/zero_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace trilith::inspect {
namespace {

using IsZero = std::array<bool, 256>;

// Ends at the first weight that is not zero: two or three of 64 on average.
bool is_zero_block(const uint8_t* codes, int64_t cols, const IsZero& is_zero) {
  for (int64_t n = 0; n < kZeroBlockRows; ++n) {
    for (int64_t k = 0; k < kZeroBlockCols; ++k) {
      if (!is_zero[codes[n * cols + k]]) return false;
    }
  }
  return true;
}

double zero_share(const uint8_t* codes, int64_t count, const IsZero& is_zero) {
  int64_t zeros = 0;
  for (int64_t k = 0; k < count; ++k) zeros += is_zero[codes[k]];
  return static_cast<double>(zeros) / static_cast<double>(count);
}

}  // namespace

void ZeroBlocks::add(const ZeroBlocks& other) {
  zero += other.zero;
  count += other.count;
  expected += other.expected;
}

double ZeroBlocks::share() const {
  return count == 0 ? 0 : static_cast<double>(zero) / static_cast<double>(count);
}

double ZeroBlocks::expected_share() const {
  return count == 0 ? 0 : expected / static_cast<double>(count);
}

std::optional<ZeroBlocks> count_zero_blocks(const packing::QuantMatrix& matrix) {
  if (!matrix.zeros.empty()) return std::nullopt;
  IsZero is_zero{};
  for (size_t code = 0; code < std::min(is_zero.size(), matrix.levels.size()); ++code) {
    is_zero[code] = matrix.levels[code] == 0.0;
  }
  ZeroBlocks blocks;
  const int64_t across = matrix.cols / kZeroBlockCols;
  for (int64_t n = 0; n + kZeroBlockRows <= matrix.rows; n += kZeroBlockRows) {
    const uint8_t* const band = matrix.codes.data() + n * matrix.cols;
    double scattered = 1;
    for (int64_t row = 0; row < kZeroBlockRows; ++row) {
      const double share = zero_share(band + row * matrix.cols, matrix.cols, is_zero);
      scattered *= std::pow(share, static_cast<double>(kZeroBlockCols));
    }
    blocks.expected += scattered * static_cast<double>(across);
    blocks.count += static_cast<uint64_t>(across);
    for (int64_t k = 0; k < across; ++k) {
      blocks.zero += is_zero_block(band + k * kZeroBlockCols, matrix.cols, is_zero);
    }
  }
  return blocks;
}

SparseSkip judge_sparse_skip(const ZeroBlocks& blocks) {
  const std::string found = fmt::format(
      "{} of {} blocks of {}x{} weights are zero throughout ({:.3g} %; {:.3g} % were the zeros "
      "scattered over their rows)",
      blocks.zero, blocks.count, kZeroBlockRows, kZeroBlockCols, 100 * blocks.share(),
      100 * blocks.expected_share());
  if (blocks.share() < kNeverPaysBelow) {
    return {"not_worth_it",
            fmt::format("{}: below {:.2g} % the test of every block costs more than is skipped",
                        found, 100 * kNeverPaysBelow)};
  }
  return {"not_measured", found + ": from which share on skipping pays is not measured yet"};
}

}  // namespace trilith::inspect
