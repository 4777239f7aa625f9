#include "packing/law.h"

#include <fmt/format.h>

namespace trilith::packing {
namespace {

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Result<LineLaw> LineLaw::make(const Law& law, int slots, int width, int64_t extent,
                              int64_t stride) {
  if (extent < 1 || extent > kMaxExtent) {
    return Error::damaged("a packed line has an impossible length")
        .with_expected(fmt::format("1 to {} elements", kMaxExtent))
        .with_found(std::to_string(extent));
  }
  LineLaw line;
  line.extent_ = extent;
  line.width_ = width;
  line.unit_elements_ = law.unit == UnitScope::kBlock ? law.block_elements : extent;
  line.units_ = (extent + line.unit_elements_ - 1) / line.unit_elements_;
  if (law.bitstream != Bitstream::kNone) {
    line.bitstream_ = true;
    line.unit_words_ = round_up(line.unit_elements_ * width, law.word_bits) / law.word_bits;
    return line;
  }
  if (!law.sections.empty()) {
    Band band;
    for (const Section& section : law.sections) {
      band.slots = static_cast<int>(section.slots);
      band.stride = section.stride;
      band.lanes = section.words > 0 ? section.words : section.stride;
      if (section.first >= 0) band.first_element = section.first;
      line.interleaved_ |= band.lanes != band.stride || section.first >= 0;
      line.bands_.push_back(band);
      band.first_element += band.elements();
      band.first_word += band.words();
    }
  } else {
    Band band;
    band.slots = slots;
    if (stride > 0 || law.stride.kind == Stride::Kind::kFixed) {
      band.stride = stride > 0 ? stride : law.stride.value;
      band.repeats = round_up(line.unit_elements_, band.stride * slots) / (band.stride * slots);
    } else {
      band.stride = round_up(line.unit_elements_, slots * law.stride.granule) / slots;
    }
    band.lanes = band.stride;
    line.bands_.push_back(band);
  }
  line.unit_words_ = line.bands_.back().first_word + line.bands_.back().words();
  return line;
}

LineLaw::Place LineLaw::place(int64_t element) const {
  Place place;
  place.unit = element / unit_elements_;
  int64_t rest = element % unit_elements_;
  const Band* band = bands_.data();
  while (!band->holds(rest)) ++band;
  rest -= band->first_element;
  const int64_t run = band->stride * band->slots;
  place.word = band->first_word + rest / run * band->lanes + rest % run % band->stride;
  place.slot = static_cast<int>(rest % run / band->stride);
  return place;
}

const LineLaw::Band& LineLaw::band_of_word(int64_t word) const {
  const Band* band = bands_.data();
  while (word - band->first_word >= band->words()) ++band;
  return *band;
}

int64_t LineLaw::element(const Place& place) const {
  const Band& band = band_of_word(place.word);
  const int64_t run = (place.word - band.first_word) / band.lanes;
  const int64_t lane = (place.word - band.first_word) % band.lanes;
  const int64_t in_unit = band.first_element + (run * band.slots + place.slot) * band.stride + lane;
  if (in_unit >= unit_elements_) return -1;
  const int64_t element = place.unit * unit_elements_ + in_unit;
  return element < extent_ ? element : -1;
}

int field_of_slot(const Law& law, int slots, int slot) {
  switch (law.slot_order) {
    case SlotOrder::kLowFirst:
      return slot;
    case SlotOrder::kHighFirst:
      return slots - 1 - slot;
    case SlotOrder::kExplicit:
      return law.explicit_order[static_cast<size_t>(slot)];
  }
  return slot;
}

}  // namespace trilith::packing
