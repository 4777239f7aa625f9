#include "packing/packed_zeros.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/side_data.h"
#include "packing/words.h"

namespace trilith::packing {
namespace {

struct BitPlace {
  int64_t word;
  int bit;
};

// Where the bits of zero point (n, g) lie.
class ZeroPlaces {
 public:
  ZeroPlaces(const Zero& zero, const ScaleGrid& grid, bool swapped)
      : zero_(zero), swapped_(swapped), along_rows_(zero.packed_axis == Axis::kN) {
    word_bits_ = static_cast<int>(dtype_size(zero.dtype)) * 8;
    slots_ = word_bits_ / zero.bits;
    rows_ = along_rows_ ? words_of(grid.outer) : grid.outer;
    groups_ = along_rows_ ? grid.inner : words_of(grid.inner);
    law_.slot_order = zero.slot_order;
    law_.explicit_order = zero.explicit_order;
  }
  int word_bits() const { return word_bits_; }
  Shape shape() const { return swapped_ ? Shape{groups_, rows_} : Shape{rows_, groups_}; }
  BitPlace place(int64_t n, int64_t g, int bit) const {
    BitPlace at = along_line(along_rows_ ? n : g, bit);
    const int64_t row = along_rows_ ? at.word : n;
    const int64_t group = along_rows_ ? g : at.word;
    at.word = swapped_ ? group * rows_ + row : row * groups_ + group;
    return at;
  }

 private:
  int64_t words_of(int64_t count) const {
    if (!zero_.sub_planes.empty()) return groups_of(count, word_bits_) * zero_.bits;
    return zero_.bitstream ? groups_of(count * zero_.bits, word_bits_) : groups_of(count, slots_);
  }
  BitPlace along_line(int64_t index, int bit) const {
    if (zero_.bitstream) {
      const int64_t at = index * zero_.bits + bit;
      return {at / word_bits_, static_cast<int>(at % word_bits_)};
    }
    if (zero_.sub_planes.empty()) {
      const int field = field_of_slot(law_, slots_, static_cast<int>(index % slots_));
      return {index / slots_, field * zero_.bits + bit};
    }
    // So many zero points as a word has bits fill `width` words of each plane.
    int64_t word = index / word_bits_ * zero_.bits;
    int first_bit = 0;
    for (const int width : zero_.sub_planes) {
      if (bit < first_bit + width) {
        const int slots = word_bits_ / width;
        const auto inside = static_cast<int>(index % word_bits_);
        return {word + inside / slots, inside % slots * width + bit - first_bit};
      }
      word += width;
      first_bit += width;
    }
    return {0, 0};
  }

  const Zero& zero_;
  bool swapped_;
  bool along_rows_;
  int word_bits_;
  int slots_;
  int64_t rows_;
  int64_t groups_;
  Law law_;
};

}  // namespace

Shape packed_zero_shape(const Zero& zero, const ScaleGrid& grid, bool swapped) {
  return ZeroPlaces(zero, grid, swapped).shape();
}

std::vector<float> read_packed_zeros(const Zero& zero, const ScaleGrid& grid,
                                     const ScaleGrid& stored, bool swapped,
                                     std::span<const std::byte> bytes) {
  const ZeroPlaces places(zero, stored, swapped);
  const uint64_t mask = (uint64_t{1} << zero.bits) - 1;
  std::vector<float> zeros;
  zeros.reserve(static_cast<size_t>(grid.count()));
  for (int64_t n = 0; n < grid.outer; ++n) {
    for (int64_t g = 0; g < grid.inner; ++g) {
      uint64_t z = zero.stored_minus_one ? 1 : 0;
      for (int bit = 0; bit < zero.bits; ++bit) {
        const BitPlace at = places.place(n, g, bit);
        const std::byte* const word = bytes.data() + at.word * (places.word_bits() / 8);
        const uint64_t bits = load_word(word, places.word_bits(), ByteOrder::kLittle);
        z += (bits >> at.bit & 1U) << bit;
      }
      zeros.push_back(static_cast<float>(z & mask));
    }
  }
  return zeros;
}

Status write_packed_zeros(const Zero& zero, const ScaleGrid& grid, const ScaleGrid& stored,
                          bool swapped, std::span<const float> zeros, std::span<std::byte> bytes) {
  const ZeroPlaces places(zero, stored, swapped);
  const uint64_t limit = uint64_t{1} << zero.bits;
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  for (int64_t n = 0; n < grid.outer; ++n) {
    for (int64_t g = 0; g < grid.inner; ++g) {
      const float value = zeros[static_cast<size_t>(n * grid.inner + g)];
      if (!(value >= 0) || value != std::floor(value) || value >= static_cast<float>(limit)) {
        return Error::usage("a zero point does not fit its bits")
            .with_expected(fmt::format("an integer of {} bits", zero.bits))
            .with_found(fmt::format("{}", value));
      }
      uint64_t z = static_cast<uint64_t>(value);
      if (zero.stored_minus_one) z = (z + limit - 1) % limit;
      for (int bit = 0; bit < zero.bits; ++bit) {
        const BitPlace at = places.place(n, g, bit);
        std::byte* const place = bytes.data() + at.word * (places.word_bits() / 8);
        const uint64_t word = load_word(place, places.word_bits(), ByteOrder::kLittle);
        store_word(place, places.word_bits(), ByteOrder::kLittle,
                   word | ((z >> bit & 1U) << at.bit));
      }
    }
  }
  return {};
}

}  // namespace trilith::packing
