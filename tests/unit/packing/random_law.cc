#include "random_law.h"

#include <numeric>

#include "random_spec.h"

namespace trilith::packing::testing {
namespace {

int trits_of(int word_bits) { return word_bits * 5 / 8; }

bool is_contiguous(const PackingSpec& spec) {
  return spec.law.axis == Axis::kFlat ||
         (spec.law.axis == Axis::kK) == (spec.orient == Orientation::kNK);
}

void random_unit(Law& law) {
  if (law.axis == Axis::kFlat) {
    law.unit = coin() ? UnitScope::kTensor : UnitScope::kBlock;
  } else {
    law.unit = pick<UnitScope>({UnitScope::kLine, UnitScope::kTensor, UnitScope::kBlock});
  }
}

void random_slots(PackingSpec& spec, int most) {
  Law& law = spec.law;
  law.slots = static_cast<int>(coin() ? most : roll(1, most));
  if (coin()) {
    law.stride.value = roll(1, 12);
  } else {
    law.stride.kind = Stride::Kind::kExtentOverSlots;
    law.stride.granule = coin() ? 1 : coin() ? -1 : roll(1, 5);
  }
  if (spec.symbol != Symbol::kBase3) {
    law.slot_order =
        pick<SlotOrder>({SlotOrder::kLowFirst, SlotOrder::kHighFirst, SlotOrder::kExplicit});
    if (law.slot_order == SlotOrder::kExplicit) law.explicit_order = random_permutation(law.slots);
  }
  if (law.unit == UnitScope::kBlock) law.block_elements = roll(1, 40);
}

// The first section cut in two along its words, the halves between each other.
void interleave(Law& law) {
  Section& section = law.sections.front();
  if (section.stride < 2) return;
  const int64_t words = roll(1, section.stride - 1);
  Section rest = section;
  rest.words = section.stride - words;
  rest.first = words;
  section.first = 0;
  section.words = words;
  int64_t next = section.slots * section.stride;
  for (size_t i = 1; i < law.sections.size(); ++i) {
    law.sections[i].first = next;
    next += law.sections[i].slots * law.sections[i].stride;
  }
  law.sections.push_back(rest);
}

void random_sections(PackingSpec& spec, int most) {
  Law& law = spec.law;
  law.unit = UnitScope::kBlock;
  const int64_t count = roll(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    law.sections.push_back({roll(1, most), roll(1, 9)});
    law.block_elements += law.sections.back().slots * law.sections.back().stride;
  }
  if (coin()) interleave(law);
  if (spec.symbol != Symbol::kBase3 && coin()) law.slot_order = SlotOrder::kHighFirst;
}

}  // namespace

std::vector<int> random_permutation(int size) {
  std::vector<int> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (int i = size - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(roll(0, i))]);
  }
  return order;
}

void random_law(PackingSpec& spec) {
  Law& law = spec.law;
  law.axis = pick<Axis>({Axis::kK, Axis::kN, Axis::kFlat});
  law.word_bits = pick<int>({8, 8, 16, 32, 64});
  random_unit(law);
  if (law.word_bits > 8 && coin()) law.byte_order = ByteOrder::kBig;
  const bool numbers =
      spec.symbol == Symbol::kInt || spec.symbol == Symbol::kTable || spec.symbol == Symbol::kFloat;
  const int most = spec.symbol == Symbol::kBase3
                       ? trits_of(law.word_bits)
                       : law.word_bits / (spec.symbol == Symbol::kBitPlanes ? 1 : spec.bits);
  const int64_t way = roll(0, 5);
  if (way == 0 && numbers) {
    law.bitstream = coin() ? Bitstream::kLsbFirst : Bitstream::kMsbFirst;
    if (law.unit == UnitScope::kBlock) law.block_elements = roll(1, 40);
  } else if (way == 1 && numbers && spec.bits > 1) {
    const auto low = static_cast<int>(roll(1, spec.bits - 1));
    law.sub_planes = {low, spec.bits - low};
    random_slots(spec, 1);
    if (law.slot_order == SlotOrder::kExplicit) {
      law.slot_order = SlotOrder::kLowFirst;
      law.explicit_order.clear();
    }
    if (law.unit == UnitScope::kBlock && coin()) {
      law.stride = {};
      law.plane_strides = {roll(1, 9), roll(1, 9)};
    }
  } else if (way == 2) {
    random_sections(spec, most);
  } else {
    random_slots(spec, most);
  }
}

void random_fields(PackingSpec& spec) {
  Law& law = spec.law;
  const bool shares = !law.plane_strides.empty();
  const bool one_tensor = (law.sub_planes.empty() || shares) && spec.planes.empty();
  if (!one_tensor || dtype_size(spec.container) != 1 || coin()) return;
  const auto around = [&](bool with_scale) {
    std::vector<Field> fields = {{FieldKind::kCodes, DType::kU8, 0}};
    const auto add = [&](Field field) {
      fields.insert(coin() ? fields.begin() : fields.end(), field);
    };
    if (with_scale) add({FieldKind::kScale, spec.scale.dtype, 1});
    if (coin()) add({FieldKind::kPadding, DType::kU8, roll(1, 5)});
    return fields;
  };
  const auto in_unit = [&](bool with_scale) {
    std::vector<Field> fields = around(with_scale);
    const Field high{FieldKind::kHighBits, DType::kU8, 0};
    if (shares) fields.insert(coin() ? fields.begin() : fields.end(), high);
    return fields;
  };
  spec.scale.dtype = coin() ? DType::kF16 : DType::kF32;
  const bool contiguous = is_contiguous(spec);
  const bool flat_kn = spec.orient == Orientation::kKN && law.axis == Axis::kFlat;
  const bool block = law.unit == UnitScope::kBlock && contiguous && !flat_kn;
  const bool line = law.unit != UnitScope::kTensor && contiguous && law.axis != Axis::kFlat;
  const int64_t where = roll(0, 2);
  if (where == 0 && block) {
    law.fields = in_unit(true);
    spec.scale.place = Scale::Place::kBlock;
    spec.scale.index = Scale::Index::kBlock;
  } else if (where == 1 && line) {
    const bool blocks = law.unit == UnitScope::kBlock;
    (blocks ? law.line_fields : law.fields) = blocks ? around(true) : in_unit(true);
    spec.scale.place = Scale::Place::kLine;
    spec.scale.index = law.axis == Axis::kN ? Scale::Index::kColumn : Scale::Index::kRow;
    if (law.unit == UnitScope::kBlock && coin()) law.fields = in_unit(false);
  } else {
    law.tensor_fields = around(true);
    spec.scale.place = Scale::Place::kTail;
    spec.scale.index = Scale::Index::kTensor;
  }
  if (coin()) {  // a minimum beside the scale
    auto& fields = !law.tensor_fields.empty() ? law.tensor_fields
                   : !law.line_fields.empty() ? law.line_fields
                                              : law.fields;
    spec.zero.kind =
        pick<Zero::Kind>({Zero::Kind::kFloat, Zero::Kind::kFloatBias, Zero::Kind::kFloatShift});
    spec.zero.dtype = DType::kF16;
    fields.push_back({FieldKind::kMin, DType::kF16, 1});
  }
}

}  // namespace trilith::packing::testing
