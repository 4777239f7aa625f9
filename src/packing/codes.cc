#include "packing/codes.h"

#include <algorithm>
#include <array>

namespace trilith::packing {
namespace {

// One bit of a stream of words.
struct BitAddress {
  int64_t word;
  int bit;
};

BitAddress bit_address(const Law& law, int64_t position, int width, int bit) {
  // MSB first: the code's highest bit comes first, and a word fills from the top.
  if (law.bitstream == Bitstream::kMsbFirst) {
    const int64_t at = position + (width - 1 - bit);
    return {at / law.word_bits, law.word_bits - 1 - static_cast<int>(at % law.word_bits)};
  }
  const int64_t at = position + bit;
  return {at / law.word_bits, static_cast<int>(at % law.word_bits)};
}

uint8_t stream_code(const CodePlane& plane, std::span<const std::byte> bytes, int64_t line,
                    int64_t element) {
  const Layout& layout = plane.layout;
  const int64_t position = layout.law.bit_offset(element);
  const int64_t unit = element / layout.law.unit_elements();
  unsigned code = 0;
  int64_t loaded = -1;
  uint64_t word = 0;
  for (int bit = 0; bit < plane.width.width; ++bit) {
    const BitAddress at = bit_address(plane.law, position, plane.width.width, bit);
    if (at.word != loaded) {
      const auto offset = static_cast<size_t>(layout.word_offset(line, unit, at.word));
      word = load_word(bytes.data() + offset, plane.law.word_bits, plane.law.byte_order);
      loaded = at.word;
    }
    code |= static_cast<unsigned>((word >> at.bit) & 1U) << bit;
  }
  return static_cast<uint8_t>(code);
}

void insert_stream_code(const CodePlane& plane, std::span<std::byte> bytes, int64_t line,
                        int64_t element, uint8_t code) {
  const Layout& layout = plane.layout;
  const int64_t position = layout.law.bit_offset(element);
  const int64_t unit = element / layout.law.unit_elements();
  for (int bit = 0; bit < plane.width.width; ++bit) {
    const BitAddress at = bit_address(plane.law, position, plane.width.width, bit);
    std::byte* const place = bytes.data() + layout.word_offset(line, unit, at.word);
    uint64_t word = load_word(place, plane.law.word_bits, plane.law.byte_order);
    word |= static_cast<uint64_t>((code >> bit) & 1U) << at.bit;
    store_word(place, plane.law.word_bits, plane.law.byte_order, word);
  }
}

}  // namespace

InvalidWords find_invalid_words(const CodePlane& plane, std::span<const std::byte> bytes) {
  InvalidWords invalid;
  const Layout& layout = plane.layout;
  const LineLaw& law = layout.law;
  if (law.is_bitstream()) return invalid;
  const bool outer = layout.kind == Layout::Lines::kOuter;
  for (const LineLaw::Band& band : law.bands()) {
    if (!plane.words.can_be_invalid(band.slots)) continue;
    std::array<uint8_t, 256> is_bad{};
    for (size_t byte = 0; byte < 256; ++byte) {
      is_bad[byte] = plane.words.is_valid(byte, band.slots) ? 0 : 1;
    }
    // `count` words that lie together: `word` and its successors in one unit, or the same word of
    // all lines.
    const auto check_run = [&](int64_t line, int64_t unit, int64_t word, int64_t count) {
      const std::byte* const run = bytes.data() + layout.word_offset(line, unit, word);
      if (plane.law.word_bits == 8) {
        unsigned bad = 0;
        for (int64_t i = 0; i < count; ++i) bad |= is_bad[static_cast<size_t>(run[i])];
        if (bad == 0) return;
      }
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t value =
            load_word(run + i * layout.word_bytes, plane.law.word_bits, plane.law.byte_order);
        if (plane.words.is_valid(value, band.slots)) continue;
        const int64_t element = law.element({unit, outer ? word : word + i, 0});
        if (invalid.count++ == 0 && element >= 0) {
          invalid.first = layout.stored_index(outer ? line + i : line, element);
          invalid.word = value;
        }
      }
    };
    for (int64_t unit = 0; unit < law.units(); ++unit) {
      if (outer) {
        for (int64_t word = 0; word < band.words(); ++word) {
          check_run(0, unit, band.first_word + word, layout.lines);
        }
      } else {
        for (int64_t line = 0; line < layout.lines; ++line) {
          check_run(line, unit, band.first_word, band.words());
        }
      }
    }
  }
  return invalid;
}

void extract_codes_by_law(const CodePlane& plane, std::span<const std::byte> bytes,
                          std::span<uint8_t> codes) {
  const Layout& layout = plane.layout;
  for (int64_t line = 0; line < layout.lines; ++line) {
    for (int64_t element = 0; element < layout.law.extent(); ++element) {
      uint8_t code = 0;
      if (layout.law.is_bitstream()) {
        code = stream_code(plane, bytes, line, element);
      } else {
        const LineLaw::Place place = layout.law.place(element);
        const auto offset = static_cast<size_t>(layout.word_offset(line, place.unit, place.word));
        const uint64_t word =
            load_word(bytes.data() + offset, plane.law.word_bits, plane.law.byte_order);
        code = plane.words.code(word, layout.law.slots_of_word(place.word), place.slot);
      }
      uint8_t& target = codes[static_cast<size_t>(layout.stored_index(line, element))];
      target = static_cast<uint8_t>(target | (code << plane.shift));
    }
  }
}

void extract_codes(const CodePlane& plane, std::span<const std::byte> bytes,
                   std::span<uint8_t> codes) {
  if (plane.shift == 0) {
    if (!extract_codes_fast(plane, bytes, codes)) extract_codes_by_law(plane, bytes, codes);
    return;
  }
  std::vector<uint8_t> part(codes.size());
  if (!extract_codes_fast(plane, bytes, part)) return extract_codes_by_law(plane, bytes, codes);
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(codes[i] | (part[i] << plane.shift));
  }
}

void insert_codes(const CodePlane& plane, std::span<const uint8_t> codes, uint8_t pad,
                  std::span<std::byte> bytes) {
  const Layout& layout = plane.layout;
  const LineLaw& law = layout.law;
  const auto part = [&](uint8_t code) {  // this plane's bits of a code
    if (plane.width.width == 0) return code;
    return static_cast<uint8_t>((code >> plane.shift) & ((1U << plane.width.width) - 1));
  };
  for (int64_t line = 0; line < layout.lines; ++line) {
    if (law.is_bitstream()) {
      for (int64_t element = 0; element < law.extent(); ++element) {
        const auto index = static_cast<size_t>(layout.stored_index(line, element));
        insert_stream_code(plane, bytes, line, element, part(codes[index]));
      }
      continue;
    }
    std::array<uint8_t, 64> shared{};
    for (int64_t unit = 0; unit < law.units(); ++unit) {
      for (int64_t word = 0; word < law.unit_words(); ++word) {
        const int slots = law.slots_of_word(word);
        for (int slot = 0; slot < slots; ++slot) {
          const int64_t element = law.element({unit, word, slot});
          const uint8_t code =
              element < 0 ? pad : codes[static_cast<size_t>(layout.stored_index(line, element))];
          shared[static_cast<size_t>(slot)] = part(code);
        }
        store_word(bytes.data() + layout.word_offset(line, unit, word), plane.law.word_bits,
                   plane.law.byte_order, plane.words.word(shared.data(), slots));
      }
    }
  }
}

}  // namespace trilith::packing
