#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace trilith::text {
namespace {

struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, kByteAlphabetEnd> byte{};  // -1: not in the alphabet

  constexpr Alphabet() {
    byte.fill(-1);
    uint16_t next = 0x100;
    for (uint16_t b = 0; b < 256; ++b) {
      const bool itself = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
      character[b] = itself ? b : next++;
      byte[character[b]] = static_cast<int16_t>(b);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

uint32_t byte_to_character(uint8_t byte) { return kAlphabet.character[byte]; }

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) append_utf8(text, byte_to_character(static_cast<uint8_t>(c)));
  return text;
}

std::string from_byte_alphabet(std::string_view token) {
  std::string bytes;
  for (size_t offset = 0; offset < token.size();) {
    const uint32_t c = next_code_point(token, offset);
    if (c >= kByteAlphabetEnd || kAlphabet.byte[c] < 0) return std::string(token);
    bytes += static_cast<char>(kAlphabet.byte[c]);
  }
  return bytes;
}

}  // namespace trilith::text
