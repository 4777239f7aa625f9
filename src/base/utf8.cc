#include "base/utf8.h"

namespace trilith {
namespace {

enum class Form { kValid, kInvalid, kIncomplete };

struct Sequence {
  size_t length;  // of the sequence, or of its longest valid beginning (at least 1)
  Form form;
};

// Table 3-7 of the Unicode Standard: the second byte of some lead bytes is restricted further.
Sequence sequence_at(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[offset + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, Form::kValid};
  if (lead < 0xc2 || lead > 0xf4) return {1, Form::kInvalid};
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  for (size_t i = 1; i < length; ++i) {
    if (offset + i == text.size()) return {i, Form::kIncomplete};
    if (byte(i) < low || byte(i) > high) return {i, Form::kInvalid};
    low = 0x80;
    high = 0xbf;
  }
  return {length, Form::kValid};
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const Sequence sequence = sequence_at(text, offset);
    if (sequence.form != Form::kValid) return offset;
    offset += sequence.length;
  }
  return std::nullopt;
}

uint32_t next_code_point(std::string_view text, size_t& offset) {
  const auto byte = [&] { return static_cast<uint8_t>(text[offset++]); };
  const uint32_t lead = byte();
  if (lead < 0x80) return lead;
  uint32_t value = lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead & 0x07;
  const int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  for (int i = 0; i < more; ++i) value = value << 6 | (byte() & 0x3fU);
  return value;
}

uint32_t previous_code_point(std::string_view text, size_t& offset) {
  do --offset;
  while ((static_cast<uint8_t>(text[offset]) & 0xc0) == 0x80);
  size_t start = offset;
  return next_code_point(text, start);
}

void append_utf8(std::string& text, uint32_t code_point) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xc0 | code_point >> 6);
    add(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    add(0xe0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3f));
    add(0x80 | (code_point & 0x3f));
  } else {
    add(0xf0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3f));
    add(0x80 | (code_point >> 6 & 0x3f));
    add(0x80 | (code_point & 0x3f));
  }
}

void append_lossy_utf8(std::string& text, std::string_view bytes) {
  for (size_t offset = 0; offset < bytes.size();) {
    const Sequence sequence = sequence_at(bytes, offset);
    if (sequence.form == Form::kValid) {
      text.append(bytes, offset, sequence.length);
    } else {
      append_utf8(text, 0xfffd);
    }
    offset += sequence.length;
  }
}

size_t incomplete_utf8_tail(std::string_view bytes) {
  for (size_t length = 1; length <= 3 && length <= bytes.size(); ++length) {
    const size_t offset = bytes.size() - length;
    if ((static_cast<uint8_t>(bytes[offset]) & 0xc0) == 0x80) continue;
    const Sequence sequence = sequence_at(bytes, offset);
    return sequence.form == Form::kIncomplete && sequence.length == length ? length : 0;
  }
  return 0;
}

}  // namespace trilith
