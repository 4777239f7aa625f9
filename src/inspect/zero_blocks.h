// Whether it would pay to skip zero weights. A kernel cannot skip a single weight, but a block of 4
// rows and 16 columns, its panel's smallest part, if it tests each block. Zeros that lie anywhere
// fill a block with probability share⁶⁴ (a third: 3e-31); only zeros that keep together make
// blocks. How many there are is counted; from which share on skipping pays must be measured on
// kernels, and has not been. What is certain is a lower bound: a test is an instruction a block at
// least, and a weight no more than five where each is taken by itself (load, shift, mask, multiply,
// add), so that below one block in 320 even the slowest kernel loses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "packing/quant_matrix.h"

namespace trilith::inspect {

constexpr int64_t kZeroBlockRows = 4;
constexpr int64_t kZeroBlockCols = 16;
constexpr double kNeverPaysBelow = 1.0 / (5 * kZeroBlockRows * kZeroBlockCols);

struct ZeroBlocks {
  uint64_t zero = 0;    // whole blocks that are zero throughout
  uint64_t count = 0;   // whole blocks
  double expected = 0;  // how many would be, were the zeros of each row scattered over it

  void add(const ZeroBlocks& other);
  double share() const;
  double expected_share() const;
};

// Nothing where zero points move the zero from group to group.
std::optional<ZeroBlocks> count_zero_blocks(const packing::QuantMatrix& matrix);

// "not_worth_it" or "not_measured", and why in a sentence. `blocks` of all modules together.
struct SparseSkip {
  std::string verdict;
  std::string reason;
};
SparseSkip judge_sparse_skip(const ZeroBlocks& blocks);

}  // namespace trilith::inspect
