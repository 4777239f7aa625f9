// Words: the codes that share one word, as bit fields or as base-3 digits. Loading and storing in
// either byte order. Plain functions of values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packing/spec.h"

namespace trilith::packing {

uint64_t load_word(const std::byte* bytes, int word_bits, ByteOrder order);
void store_word(std::byte* bytes, int word_bits, ByteOrder order, uint64_t word);

// What a word's bits mean, for a plane whose slots have `width` bits (0: trits).
class WordCodes {
 public:
  WordCodes(const PackingSpec& spec, int width);

  // The code in `slot` of a word that holds `slots`.
  uint8_t code(uint64_t word, int slots, int slot) const;
  // The word that holds these codes.
  uint64_t word(const uint8_t* codes, int slots) const;
  // Whether the word is one that word() can give: no bits outside the fields (or the sign
  // repeated there), a base-3 number below 3^slots.
  bool is_valid(uint64_t word, int slots) const;

  bool is_base3() const { return base3_; }
  // Whether is_valid can fail at all for words of `slots`.
  bool can_be_invalid(int slots) const;

 private:
  // 3^i of the digit in `slot`.
  int exponent(int slots, int slot) const;
  // The base-3 number that a fixed-point byte stands for, or −1.
  int number_of_byte(uint64_t word) const { return number_of_byte_[word & 0xffU]; }

  Law law_;
  int width_;
  bool base3_;
  bool sign_extended_ = false;
  Digits digits_;
  std::array<int16_t, 256> number_of_byte_{};  // for Digits::Map::kCeil256
};

// One number a word in a signed container whose levels are two's complement: the sign fills the
// word.
bool is_sign_extended(const PackingSpec& spec);

}  // namespace trilith::packing
