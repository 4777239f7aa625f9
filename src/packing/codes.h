// Codes in and out of the words of one stored plane, in the order of the stored matrix
// [outer, inner]. extract_codes picks a fast loop where one exists; extract_codes_by_law asks the
// law for every element and is what the fast loops are tested against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packing/layout.h"
#include "packing/words.h"

namespace trilith::packing {

struct CodePlane {
  Layout layout;
  WordCodes words;
  Law law;  // word size, byte order and bitstream of the spec
  PlaneWidth width;
  int shift = 0;  // of this plane's bits in the code
};

// Words that no codes can give: how many, and the stored index of the first one's first element.
struct InvalidWords {
  int64_t count = 0;
  int64_t first = -1;
  uint64_t word = 0;
};
InvalidWords find_invalid_words(const CodePlane& plane, std::span<const std::byte> bytes);

// ORs each element's bits, shifted, into codes[outer · inner].
void extract_codes(const CodePlane& plane, std::span<const std::byte> bytes,
                   std::span<uint8_t> codes);
void extract_codes_by_law(const CodePlane& plane, std::span<const std::byte> bytes,
                          std::span<uint8_t> codes);
// The fast loops alone, without the shift: false when there is none for this plane. `codes` must
// be zero.
bool extract_codes_fast(const CodePlane& plane, std::span<const std::byte> bytes,
                        std::span<uint8_t> codes);

// Writes the words; slots of padding get `pad`. Other bytes are left alone.
void insert_codes(const CodePlane& plane, std::span<const uint8_t> codes, uint8_t pad,
                  std::span<std::byte> bytes);

}  // namespace trilith::packing
