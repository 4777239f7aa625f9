// The byte alphabet of byte-level BPE: each byte is written as one printable character, so that
// vocabularies are text. 188 bytes stand for themselves (as Latin-1), the 68 others for U+0100 and
// the characters behind it, in order (GPT-2's convention).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trilith::text {

// Code points of the alphabet are below this.
constexpr uint32_t kByteAlphabetEnd = 0x144;

uint32_t byte_to_character(uint8_t byte);
std::string to_byte_alphabet(std::string_view bytes);
// The bytes that `token` writes, or the token itself when a character is outside the alphabet.
std::string from_byte_alphabet(std::string_view token);

}  // namespace trilith::text
