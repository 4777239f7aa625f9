// Which codes occur. Counted on the byte histogram, so the order of the codes in a byte does not
// matter here; codes that never occur tell a ternary alphabet from a 2-bit integer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace trilith::inspect {

using ByteHistogram = std::array<uint64_t, 256>;

// How a byte holds codes; kInline: a block format with its own fields; kFloats: as numbers.
enum class Cell { kTwoBits, kBase3Plain, kBase3Ceil256, kWholeByte, kInline, kFloats };
std::string_view cell_name(Cell cell);

struct Alphabet {
  std::vector<uint64_t> counts;  // of each code; 4, 3 or 256 entries
  uint64_t impossible = 0;       // bytes that no digits give (base 3)
  uint64_t total() const;
  std::vector<int> used() const;  // codes that occur, ascending
};
// For all but kInline and kFloats.
Alphabet count_codes(const ByteHistogram& bytes, Cell cell);

// Bits of entropy a byte.
double byte_entropy(const ByteHistogram& bytes);

// Three codes of which each has at least a hundredth of the mass, and nothing else: what packed
// ternary weights look like. `reason` says what is wrong otherwise.
struct TernaryVerdict {
  bool ternary = false;
  // A fourth code or impossible bytes so rare that it looks like damage to ternary data.
  bool damaged = false;
  uint64_t stray = 0;      // how many stray codes
  std::vector<int> codes;  // the three codes, ascending
  std::string reason;
};
TernaryVerdict judge_ternary(const Alphabet& alphabet);

// Whether whole bytes look like rounded weights: symmetric around `centre` (0 for two's complement,
// 128 for offset bytes) and falling off with magnitude.
struct BellVerdict {
  bool bell = false;
  int centre = 0;
  std::array<double, 4> shares{};  // of the quarters of the magnitude range
};
BellVerdict judge_bell(const ByteHistogram& bytes);

}  // namespace trilith::inspect
