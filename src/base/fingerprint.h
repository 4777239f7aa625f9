// 64-bit fingerprints of value sequences, for "the same values?" and "the same values in another
// order?" without keeping the values. Not cryptographic.
//   ordered:  changes when any element or the order changes
//   multiset: changes when any element changes, not when elements move
// Floats enter by value: -0 counts as 0, every NaN as one NaN.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trilith {

struct Fingerprint {
  uint64_t ordered = 0;
  uint64_t multiset = 0;
  uint64_t count = 0;

  void add(uint64_t element);
  void add(float value);
  bool operator==(const Fingerprint&) const = default;
};

Fingerprint fingerprint(std::span<const float> values);
Fingerprint fingerprint(std::span<const int8_t> values);
Fingerprint fingerprint(std::span<const int32_t> values);

// 16 hex digits.
std::string hex64(uint64_t value);

}  // namespace trilith
