// LineLaw: the strided-slot law (spec.h) for one line of elements: which word and which slot an
// element lies in, and back. Both directions are written out separately, so that each checks the
// other. A line is `units` units of `unit_words` words; a unit is one or more bands, and in each
// band neighbours in a word are `stride` elements apart. Slots that no element of the line takes
// are padding. A plain value; safe to share.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/spec.h"

namespace trilith::packing {

class LineLaw {
 public:
  struct Band {
    int64_t first_element = 0;
    int64_t first_word = 0;
    int64_t stride = 1;
    int slots = 1;
    int64_t repeats = 1;  // runs of slots · stride elements
    int64_t lanes = 1;    // words of a run: the stride, or fewer in an interleaved section
    int64_t elements() const { return stride * slots * repeats; }
    int64_t words() const { return lanes * repeats; }
    bool holds(int64_t element) const {
      const int64_t rest = element - first_element;
      return rest >= 0 && rest < elements() && rest % stride < lanes;
    }
  };
  struct Place {
    int64_t unit = 0;
    int64_t word = 0;  // inside the unit
    int slot = 0;
    bool operator==(const Place&) const = default;
  };

  // `slots` elements of `width` bits share a word (law.slots, or what a sub-plane has). The law
  // must have passed validate(); extents above kMaxExtent are refused.
  // `stride` > 0 takes the place of the law's.
  static Result<LineLaw> make(const Law& law, int slots, int width, int64_t extent,
                              int64_t stride = 0);

  static constexpr int64_t kMaxExtent = int64_t{1} << 40;

  int64_t extent() const { return extent_; }
  int64_t units() const { return units_; }
  int64_t unit_elements() const { return unit_elements_; }  // without padding slots
  int64_t unit_words() const { return unit_words_; }
  const std::vector<Band>& bands() const { return bands_; }
  bool is_bitstream() const { return bitstream_; }
  bool is_interleaved() const { return interleaved_; }  // bands between the elements of others

  // Of element e < extent.
  Place place(int64_t element) const;
  // The element at a place, or −1 for padding.
  int64_t element(const Place& place) const;
  int slots_of_word(int64_t word) const { return band_of_word(word).slots; }

  // Dense bitstreams: the first bit of an element, counted from the start of its unit.
  int64_t bit_offset(int64_t element) const { return element % unit_elements_ * width_; }

 private:
  const Band& band_of_word(int64_t word) const;

  int64_t extent_ = 0;
  int64_t units_ = 1;
  int64_t unit_elements_ = 0;
  int64_t unit_words_ = 0;
  int width_ = 1;
  bool bitstream_ = false;
  bool interleaved_ = false;
  std::vector<Band> bands_;
};

// The bit field (0 = lowest) of a slot among `slots`.
int field_of_slot(const Law& law, int slots, int slot);

}  // namespace trilith::packing
