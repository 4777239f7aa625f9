#include "packing/packed_zeros.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/side_data.h"
#include "packing/words.h"

namespace trilith::packing {
namespace {

// Where zero point (n, g) lies.
class ZeroPlaces {
 public:
  ZeroPlaces(const Zero& zero, const ScaleGrid& grid, bool swapped)
      : zero_(zero), swapped_(swapped), along_rows_(zero.packed_axis == Axis::kN) {
    word_bits_ = static_cast<int>(dtype_size(zero.dtype)) * 8;
    slots_ = word_bits_ / zero.bits;
    rows_ = along_rows_ ? groups_of(grid.outer, slots_) : grid.outer;
    groups_ = along_rows_ ? grid.inner : groups_of(grid.inner, slots_);
    law_.slot_order = zero.slot_order;
    law_.explicit_order = zero.explicit_order;
  }
  int word_bits() const { return word_bits_; }
  Shape shape() const { return swapped_ ? Shape{groups_, rows_} : Shape{rows_, groups_}; }
  int64_t word(int64_t n, int64_t g) const {
    const int64_t row = along_rows_ ? n / slots_ : n;
    const int64_t group = along_rows_ ? g : g / slots_;
    return swapped_ ? group * rows_ + row : row * groups_ + group;
  }
  int shift(int64_t n, int64_t g) const {
    const int slot = static_cast<int>((along_rows_ ? n : g) % slots_);
    return field_of_slot(law_, slots_, slot) * zero_.bits;
  }

 private:
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

std::vector<float> read_packed_zeros(const Zero& zero, const ScaleGrid& grid, bool swapped,
                                     std::span<const std::byte> bytes) {
  const ZeroPlaces places(zero, grid, swapped);
  const uint64_t mask = (uint64_t{1} << zero.bits) - 1;
  std::vector<float> zeros;
  zeros.reserve(static_cast<size_t>(grid.count()));
  for (int64_t n = 0; n < grid.outer; ++n) {
    for (int64_t g = 0; g < grid.inner; ++g) {
      const std::byte* const at = bytes.data() + places.word(n, g) * (places.word_bits() / 8);
      uint64_t z = load_word(at, places.word_bits(), ByteOrder::kLittle) >> places.shift(n, g);
      if (zero.stored_minus_one) ++z;
      zeros.push_back(static_cast<float>(z & mask));
    }
  }
  return zeros;
}

Status write_packed_zeros(const Zero& zero, const ScaleGrid& grid, bool swapped,
                          std::span<const float> zeros, std::span<std::byte> bytes) {
  const ZeroPlaces places(zero, grid, swapped);
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
      std::byte* const at = bytes.data() + places.word(n, g) * (places.word_bits() / 8);
      const uint64_t word = load_word(at, places.word_bits(), ByteOrder::kLittle);
      store_word(at, places.word_bits(), ByteOrder::kLittle, word | (z << places.shift(n, g)));
    }
  }
  return {};
}

}  // namespace trilith::packing
