// UTF-8: validity, code points, and the replacement of what is not UTF-8 by U+FFFD, one for each
// maximal invalid subpart (Unicode §3.9, "U+FFFD Substitution of Maximal Subparts").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trilith {

// Where the first byte that is not UTF-8 lies.
std::optional<size_t> first_invalid_utf8(std::string_view text);

// The code point at `offset`, which moves behind it. `text` must be UTF-8, `offset` at a boundary.
uint32_t next_code_point(std::string_view text, size_t& offset);
// The code point before `offset`, which moves to its start.
uint32_t previous_code_point(std::string_view text, size_t& offset);
void append_utf8(std::string& text, uint32_t code_point);

// Appends `bytes` to `text` with U+FFFD for what is not UTF-8.
void append_lossy_utf8(std::string& text, std::string_view bytes);
// Bytes at the end that begin a sequence still lacking bytes: 0 … 3.
size_t incomplete_utf8_tail(std::string_view bytes);

}  // namespace trilith
