// Fast loops of extract_codes: words that hold neighbours go through a table of all bytes; words
// of strided slots are shifted and masked, one slot at a time, over runs of consecutive words;
// dense streams are read two bytes, or two words of each line, at a time.
#include <algorithm>
#include <array>
#include <cstring>

#include "packing/codes.h"

namespace trilith::packing {
namespace {

// One slot of `count` consecutive words. The byte loops vectorise; digits go through a table.
class SlotReader {
 public:
  SlotReader(const CodePlane& plane, int slots, int slot)
      : bytes_a_word_(plane.law.word_bits / 8), base3_(plane.words.is_base3()) {
    if (base3_) {
      for (size_t byte = 0; byte < 256; ++byte) table_[byte] = plane.words.code(byte, slots, slot);
    } else {
      shift_ = field_of_slot(plane.law, slots, slot) * plane.width.width;
      mask_ = static_cast<uint8_t>((1U << plane.width.width) - 1);
    }
  }

  void read(const std::byte* words, int64_t count, uint8_t* codes) const {
    if (base3_) {
      for (int64_t i = 0; i < count; ++i) codes[i] = table_[static_cast<size_t>(words[i])];
    } else if (bytes_a_word_ == 1) {
      for (int64_t i = 0; i < count; ++i) {
        codes[i] = static_cast<uint8_t>((static_cast<unsigned>(words[i]) >> shift_) & mask_);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const auto word = load<uint32_t>(words, static_cast<size_t>(i));
        codes[i] = static_cast<uint8_t>((word >> shift_) & mask_);
      }
    }
  }

 private:
  int bytes_a_word_;
  bool base3_;
  int shift_ = 0;
  uint8_t mask_ = 0;
  std::array<uint8_t, 256> table_{};
};

// Runs of at least this many words pay for a SlotReader call.
constexpr int64_t kShortestRun = 8;

void extract_strided(const CodePlane& plane, const std::byte* bytes, uint8_t* codes) {
  const Layout& layout = plane.layout;
  const LineLaw& law = layout.law;
  const bool outer = layout.kind == Layout::Lines::kOuter;
  for (const LineLaw::Band& band : law.bands()) {
    for (int slot = 0; slot < band.slots; ++slot) {
      const SlotReader reader(plane, band.slots, slot);
      for (int64_t line = 0; line < (outer ? 1 : layout.lines); ++line) {
        for (int64_t unit = 0; unit < law.units(); ++unit) {
          for (int64_t repeat = 0; repeat < band.repeats; ++repeat) {
            const int64_t word = band.first_word + repeat * band.stride;
            const int64_t in_unit = band.first_element + (repeat * band.slots + slot) * band.stride;
            const int64_t first = unit * law.unit_elements() + in_unit;
            const int64_t left = std::min(law.unit_elements() - in_unit, law.extent() - first);
            const int64_t count = std::min(band.stride, left);
            if (count <= 0) continue;
            // Outer lines: whole rows of words lie beside each other, and so do their elements.
            reader.read(bytes + layout.word_offset(line, unit, word),
                        outer ? count * layout.inner : count,
                        codes + layout.stored_index(line, first));
          }
        }
      }
    }
  }
}

// Whether the fields of a wide word are those of its bytes one after the other.
bool reads_as_bytes(const CodePlane& plane, const LineLaw::Band& band) {
  if (plane.law.word_bits == 8) return true;
  return !plane.words.is_base3() && plane.law.byte_order == ByteOrder::kLittle &&
         plane.law.slot_order == SlotOrder::kLowFirst && 8 % plane.width.width == 0 &&
         band.slots * plane.width.width == plane.law.word_bits;
}

// Bytes that hold `slots` neighbours each.
template <int kSlots>
void extract_adjacent(const CodePlane& plane, const std::byte* bytes, uint8_t* codes) {
  const Layout& layout = plane.layout;
  const LineLaw& law = layout.law;
  std::array<std::array<uint8_t, kSlots>, 256> table;
  for (size_t byte = 0; byte < 256; ++byte) {
    for (int slot = 0; slot < kSlots; ++slot) {
      table[byte][static_cast<size_t>(slot)] = plane.words.code(byte, kSlots, slot);
    }
  }
  for (int64_t line = 0; line < layout.lines; ++line) {
    for (int64_t unit = 0; unit < law.units(); ++unit) {
      const int64_t first = unit * law.unit_elements();
      const int64_t count = std::min(law.unit_elements(), law.extent() - first);
      const std::byte* const words = bytes + layout.word_offset(line, unit, 0);
      uint8_t* const target = codes + layout.stored_index(line, first);
      const int64_t whole = count / kSlots;
      for (int64_t i = 0; i < whole; ++i) {
        std::memcpy(target + i * kSlots, table[static_cast<size_t>(words[i])].data(), kSlots);
      }
      if (const int64_t rest = count % kSlots; rest != 0) {
        std::memcpy(target + whole * kSlots, table[static_cast<size_t>(words[whole])].data(),
                    static_cast<size_t>(rest));
      }
    }
  }
}

// A dense stream, lowest bits first: little-endian words of any size are one stream of bytes, and a
// code lies in two of them at most.
void extract_stream(const CodePlane& plane, std::span<const std::byte> bytes, uint8_t* codes) {
  const Layout& layout = plane.layout;
  const LineLaw& law = layout.law;
  const auto mask = static_cast<uint8_t>((1U << plane.width.width) - 1);
  for (int64_t line = 0; line < layout.lines; ++line) {
    for (int64_t unit = 0; unit < law.units(); ++unit) {
      const int64_t first = unit * law.unit_elements();
      const int64_t count = std::min(law.unit_elements(), law.extent() - first);
      const auto stream = bytes.subspan(static_cast<size_t>(layout.word_offset(line, unit, 0)));
      uint8_t* const target = codes + layout.stored_index(line, first);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t bit = i * plane.width.width;
        const auto at = static_cast<size_t>(bit / 8);
        auto pair = static_cast<unsigned>(stream[at]);
        if (at + 1 < stream.size()) pair |= static_cast<unsigned>(stream[at + 1]) << 8;
        target[i] = static_cast<uint8_t>((pair >> (bit % 8)) & mask);
      }
    }
  }
}

// The same in lines beside each other: element e of all lines lies in one row of words, or in two.
void extract_outer_stream(const CodePlane& plane, const std::byte* bytes, uint8_t* codes) {
  const Layout& layout = plane.layout;
  const LineLaw& law = layout.law;
  const int word_bits = plane.law.word_bits;
  const int width = plane.width.width;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  for (int64_t element = 0; element < law.extent(); ++element) {
    const int64_t unit = element / law.unit_elements();
    const int64_t position = law.bit_offset(element);
    const int64_t word = position / word_bits;
    const auto shift = static_cast<int>(position % word_bits);
    const std::byte* const low = bytes + layout.word_offset(0, unit, word);
    const bool straddles = shift + width > word_bits;
    const std::byte* const high = straddles ? bytes + layout.word_offset(0, unit, word + 1) : low;
    uint8_t* const target = codes + element * layout.inner;
    for (int64_t line = 0; line < layout.lines; ++line) {
      const int64_t offset = line * layout.word_bytes;
      uint64_t code = load_word(low + offset, word_bits, ByteOrder::kLittle) >> shift;
      if (straddles) {
        code |= load_word(high + offset, word_bits, ByteOrder::kLittle) << (word_bits - shift);
      }
      target[line] = static_cast<uint8_t>(code & mask);
    }
  }
}

}  // namespace

bool extract_codes_fast(const CodePlane& plane, std::span<const std::byte> bytes,
                        std::span<uint8_t> codes) {
  const auto& bands = plane.layout.law.bands();
  const bool outer = plane.layout.kind == Layout::Lines::kOuter;
  if (plane.layout.law.is_interleaved()) return false;
  if (plane.layout.law.is_bitstream()) {
    const bool low_first = plane.law.bitstream == Bitstream::kLsbFirst &&
                           (plane.law.word_bits == 8 || plane.law.byte_order == ByteOrder::kLittle);
    if (!low_first) return false;
    if (outer) {
      extract_outer_stream(plane, bytes.data(), codes.data());
    } else {
      extract_stream(plane, bytes, codes.data());
    }
    return true;
  }
  if (!outer && bands.size() == 1 && bands[0].stride == 1 && reads_as_bytes(plane, bands[0])) {
    const int slots = plane.law.word_bits == 8 ? bands[0].slots : 8 / plane.width.width;
    switch (slots) {
      case 1:
        extract_adjacent<1>(plane, bytes.data(), codes.data());
        return true;
      case 2:
        extract_adjacent<2>(plane, bytes.data(), codes.data());
        return true;
      case 4:
        extract_adjacent<4>(plane, bytes.data(), codes.data());
        return true;
      case 5:
        extract_adjacent<5>(plane, bytes.data(), codes.data());
        return true;
      case 8:
        extract_adjacent<8>(plane, bytes.data(), codes.data());
        return true;
      default:
        return false;
    }
  }
  const bool readable =
      plane.law.word_bits == 8 || (plane.law.word_bits == 32 && !plane.words.is_base3() &&
                                   plane.law.byte_order == ByteOrder::kLittle);
  const bool long_runs =
      outer ? plane.layout.inner >= kShortestRun
            : std::any_of(bands.begin(), bands.end(),
                          [](const LineLaw::Band& band) { return band.stride >= kShortestRun; });
  if (!readable || !long_runs) return false;
  extract_strided(plane, bytes.data(), codes.data());
  return true;
}

}  // namespace trilith::packing
