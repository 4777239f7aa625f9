// How often each byte of a buffer occurs: of stored bytes, or of codes one a byte. Buffers whose
// bytes are all below 4 (ternary and 2-bit codes) are compared many at a time; others go through
// several tables in turn, so that equal neighbours do not wait for each other's count. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trilith {

using ByteCounts = std::array<uint64_t, 256>;

void add_byte_counts(std::span<const uint8_t> bytes, ByteCounts& counts);
void add_byte_counts(std::span<const std::byte> bytes, ByteCounts& counts);

// The same apart for each of the four bytes of a 32-bit word: bytes 0, 4, 8, … first.
using LaneCounts = std::array<ByteCounts, 4>;
void add_lane_counts(std::span<const std::byte> bytes, LaneCounts& lanes);

}  // namespace trilith
