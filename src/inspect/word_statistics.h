// The statistics pass over stored words whose fields have 1, 2, 4 or 8 bits, before any law places
// them: which bytes and fields occur, how often the commonest field occurs in every stored row and
// at every place of a row, and how much a field holds by its place in a word. Weights are alike in
// every slot; places that hold scales or zero points, and words of another width, show as slots of
// another entropy. One reading of the bytes for the first, one for the second; at memory's pace,
// not at a field's (bench/inspect_bench.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_counts.h"

namespace trilith::inspect {

struct WordStatistics {
  int bits = 8;
  LaneCounts lanes{};            // how often each byte occurs at offsets 0 to 3 of four bytes
  std::vector<uint64_t> counts;  // of each value of a field
  size_t mark = 0;               // the commonest value
  std::vector<uint32_t> rows;    // of each stored row: fields that have it
  // At each place of a row, byte after byte, lowest bits first: rows that have it there.
  std::vector<uint32_t> columns;

  double entropy() const;  // bits of a field
  // The same for each of the fields of four bytes, lowest first: positional entropy.
  std::vector<double> slot_entropy() const;
};

// `bits`: 1, 2, 4 or 8. `rows` of equal length make up `bytes`; at least one.
WordStatistics word_statistics(std::span<const std::byte> bytes, size_t rows, int bits);

}  // namespace trilith::inspect
