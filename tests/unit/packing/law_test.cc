// The strided-slot law: element → (word, slot) and back, for every kind of unit.
#include "packing/law.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <tuple>

#include "packing/layout.h"
#include "random_spec.h"

namespace trilith::packing {
namespace {

using testing::random_spec;
using testing::roll;

// The law as spec.h states it, for one unit of fixed stride.
LineLaw::Place place_by_formula(int64_t e, int64_t stride, int64_t slots) {
  const int64_t run = stride * slots;
  const int64_t r = e % run;
  return {0, e / run * stride + r % stride, static_cast<int>(r / stride)};
}

RC_GTEST_PROP(LineLaw, FollowsTheFormula, ()) {
  Law law;
  law.stride.value = roll(1, 40);
  const auto slots = static_cast<int>(roll(1, 8));
  const int64_t extent = roll(1, 300);
  const auto line = LineLaw::make(law, slots, 1, extent);
  RC_ASSERT(line.ok());
  for (int64_t e = 0; e < extent; ++e) {
    RC_ASSERT(line->place(e) == place_by_formula(e, law.stride.value, slots));
  }
}

RC_GTEST_PROP(LineLaw, PlacesAndElementsAreOneToOne, ()) {
  PackingSpec spec = random_spec(12, 12);
  if (spec.law.stride.granule < 0) spec.law.stride.granule = 12;  // as the layout does
  const PlaneWidth plane = planes_of(spec).front();
  const int64_t extent = roll(1, 200);
  const auto line = LineLaw::make(spec.law, plane.slots, plane.width, extent, plane.stride);
  RC_ASSERT(line.ok());
  RC_PRE(!line->is_bitstream());
  std::set<std::tuple<int64_t, int64_t, int>> taken;
  for (int64_t e = 0; e < extent; ++e) {
    const LineLaw::Place place = line->place(e);
    RC_ASSERT(place.unit >= 0 && place.unit < line->units());
    RC_ASSERT(place.word >= 0 && place.word < line->unit_words());
    RC_ASSERT(place.slot >= 0 && place.slot < line->slots_of_word(place.word));
    RC_ASSERT(taken.insert({place.unit, place.word, place.slot}).second);
    RC_ASSERT(line->element(place) == e);
  }
  // What no element takes is padding.
  for (int64_t unit = 0; unit < line->units(); ++unit) {
    for (int64_t word = 0; word < line->unit_words(); ++word) {
      for (int slot = 0; slot < line->slots_of_word(word); ++slot) {
        const bool is_taken = taken.contains({unit, word, slot});
        RC_ASSERT((line->element({unit, word, slot}) >= 0) == is_taken);
      }
    }
  }
}

TEST(LineLaw, EqualPartsPadToWholeGranules) {
  Law law;
  law.stride.kind = Stride::Kind::kExtentOverSlots;
  auto line = LineLaw::make(law, 4, 2, 90);  // 90 rows in quarters: 23 rows each
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->unit_words(), 23);
  EXPECT_EQ(line->place(89), (LineLaw::Place{0, 20, 3}));
  law.stride.granule = 16;  // groups of 16 elements stay together
  line = LineLaw::make(law, 4, 2, 90);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->unit_words(), 32);
}

TEST(LineLaw, SectionsOfTq1) {
  Law law;
  law.unit = UnitScope::kBlock;
  law.block_elements = 256;
  law.sections = {{5, 32}, {5, 16}, {4, 4}};
  const auto line = LineLaw::make(law, 1, 0, 512);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->unit_words(), 52);
  EXPECT_EQ(line->place(33), (LineLaw::Place{0, 1, 1}));
  EXPECT_EQ(line->place(160 + 16 * 2 + 3), (LineLaw::Place{0, 32 + 3, 2}));
  EXPECT_EQ(line->place(256 + 240 + 4 * 3 + 2), (LineLaw::Place{1, 48 + 2, 3}));
}

TEST(LineLaw, RefusesImpossibleExtents) {
  EXPECT_FALSE(LineLaw::make(Law{}, 1, 2, 0).ok());
  EXPECT_FALSE(LineLaw::make(Law{}, 1, 2, -5).ok());
  EXPECT_FALSE(LineLaw::make(Law{}, 1, 2, int64_t{1} << 50).ok());
}

}  // namespace
}  // namespace trilith::packing
