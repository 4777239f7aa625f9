#include "packing/words.h"

#include <algorithm>

#include "packing/law.h"

namespace trilith::packing {
namespace {

constexpr std::array<uint64_t, 41> powers_of_three() {
  std::array<uint64_t, 41> powers{};
  uint64_t power = 1;
  for (auto& entry : powers) {
    entry = power;
    power *= 3;
  }
  return powers;
}
constexpr auto kPowers = powers_of_three();

constexpr uint64_t mask_of(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// The fixed-point fraction of TQ1_0: the smallest byte b with b · 243 / 256 ≥ q.
constexpr uint64_t fraction_byte(uint64_t number) { return (number * 256 + 242) / 243; }

}  // namespace

uint64_t load_word(const std::byte* bytes, int word_bits, ByteOrder order) {
  const int count = word_bits / 8;
  uint64_t word = 0;
  for (int i = 0; i < count; ++i) {
    const int shift = 8 * (order == ByteOrder::kLittle ? i : count - 1 - i);
    word |= static_cast<uint64_t>(bytes[i]) << shift;
  }
  return word;
}

void store_word(std::byte* bytes, int word_bits, ByteOrder order, uint64_t word) {
  const int count = word_bits / 8;
  for (int i = 0; i < count; ++i) {
    const int shift = 8 * (order == ByteOrder::kLittle ? i : count - 1 - i);
    bytes[i] = static_cast<std::byte>(word >> shift);
  }
}

bool is_sign_extended(const PackingSpec& spec) {
  if (spec.symbol != Symbol::kInt || spec.law.slots != 1 ||
      spec.law.bitstream != Bitstream::kNone || !spec.law.sub_planes.empty() ||
      !spec.law.sections.empty()) {
    return false;
  }
  const bool is_signed = spec.container == DType::kI8 || spec.container == DType::kI16 ||
                         spec.container == DType::kI32 || spec.container == DType::kI64;
  if (!is_signed) return false;
  const auto twos = CodeTable::rule(CodeTable::Kind::kTwosComplement).resolve(spec.bits);
  const auto levels = levels_of(spec);
  for (size_t code = 0; code < levels.size(); ++code) {
    if (levels[code] && levels[code] != twos[code]) return false;
  }
  return true;
}

WordCodes::WordCodes(const PackingSpec& spec, int width)
    : law_(spec.law),
      width_(width),
      base3_(spec.symbol == Symbol::kBase3),
      sign_extended_(is_sign_extended(spec)),
      digits_(spec.digits) {
  number_of_byte_.fill(-1);
  for (uint64_t number = 0; number < 243; ++number) {
    number_of_byte_[fraction_byte(number)] = static_cast<int16_t>(number);
  }
}

int WordCodes::exponent(int slots, int slot) const {
  if (digits_.order == Digits::Order::kLsbFirst) return slot;
  // A fraction keeps its first digit at the top, however few follow.
  return (digits_.map == Digits::Map::kCeil256 ? 5 : slots) - 1 - slot;
}

uint8_t WordCodes::code(uint64_t word, int slots, int slot) const {
  if (!base3_) {
    return static_cast<uint8_t>((word >> (field_of_slot(law_, slots, slot) * width_)) &
                                mask_of(width_));
  }
  const uint64_t value = digits_.map == Digits::Map::kCeil256
                             ? static_cast<uint64_t>(std::max(number_of_byte(word), 0))
                             : word;
  return static_cast<uint8_t>(value / kPowers[static_cast<size_t>(exponent(slots, slot))] % 3);
}

uint64_t WordCodes::word(const uint8_t* codes, int slots) const {
  uint64_t word = 0;
  if (!base3_) {
    for (int slot = 0; slot < slots; ++slot) {
      word |= (codes[slot] & mask_of(width_)) << (field_of_slot(law_, slots, slot) * width_);
    }
    if (sign_extended_ && ((word >> (width_ - 1)) & 1U) != 0) word |= ~mask_of(width_);
    return word & mask_of(law_.word_bits);
  }
  for (int slot = 0; slot < slots; ++slot) {
    word += codes[slot] * kPowers[static_cast<size_t>(exponent(slots, slot))];
  }
  return digits_.map == Digits::Map::kCeil256 ? fraction_byte(word) : word;
}

bool WordCodes::can_be_invalid(int slots) const {
  return base3_ || slots * width_ < law_.word_bits;
}

bool WordCodes::is_valid(uint64_t word, int slots) const {
  if (!base3_) {
    const uint64_t outside = mask_of(law_.word_bits) & ~mask_of(slots * width_);
    const bool negative = sign_extended_ && ((word >> (width_ - 1)) & 1U) != 0;
    return (word & outside) == (negative ? outside : 0);
  }
  if (digits_.map == Digits::Map::kPlain) {
    return word < kPowers[static_cast<size_t>(slots)];
  }
  const int value = number_of_byte(word);
  if (value < 0) return false;
  // Digits behind the last slot are 0: the low ones when the first digit is the highest.
  if (digits_.order == Digits::Order::kLsbFirst) {
    return static_cast<uint64_t>(value) < kPowers[static_cast<size_t>(slots)];
  }
  return static_cast<uint64_t>(value) % kPowers[static_cast<size_t>(5 - slots)] == 0;
}

}  // namespace trilith::packing
