// What makes a law consistent. The limits here are what lets layout.cc compute without fear of
// overflow.
#include <algorithm>

#include "packing/k_quants.h"
#include "packing/validate_parts.h"

namespace trilith::packing {
namespace {

// Trits that fit a word.
int trits_of(int word_bits) {
  return word_bits == 8 ? 5 : word_bits == 16 ? 10 : word_bits / 8 * 5;
}

int slot_width(const PackingSpec& spec) {
  return spec.symbol == Symbol::kBitPlanes ? 1 : spec.bits;
}

Status check_slots(const PackingSpec& spec, int64_t slots) {
  if (spec.symbol == Symbol::kBase3) {
    TRILITH_REQUIRE(slots >= 1 && slots <= trits_of(spec.law.word_bits),
                    "{} trits do not fit a word of {} bits", slots, spec.law.word_bits);
  } else {
    TRILITH_REQUIRE(slots >= 1 && slots <= 64 && slots * slot_width(spec) <= spec.law.word_bits,
                    "{} slots of {} bits do not fit a word of {} bits", slots, slot_width(spec),
                    spec.law.word_bits);
  }
  return {};
}

// Every element of a block in one section.
Status check_sections(const PackingSpec& spec) {
  constexpr int64_t kMaxInterleaved = 1 << 16;  // elements of a block that is checked one by one
  const Law& law = spec.law;
  int64_t elements = 0;
  bool interleaved = false;
  for (const Section& section : law.sections) {
    TRILITH_RETURN_IF_ERROR(check_slots(spec, section.slots));
    TRILITH_REQUIRE(section.stride >= 1 && section.stride <= kMaxRun / 64, "stride {}",
                    section.stride);
    TRILITH_REQUIRE(section.words >= 0 && section.words <= section.stride && section.first >= -1 &&
                        section.first < law.block_elements,
                    "a section of {} words from element {}", section.words, section.first);
    interleaved |= section.words > 0 || section.first >= 0;
    elements += section.slots * (section.words > 0 ? section.words : section.stride);
  }
  TRILITH_REQUIRE(elements == law.block_elements, "sections of {} elements in a block of {}",
                  elements, law.block_elements);
  if (!interleaved) return {};
  TRILITH_REQUIRE(elements <= kMaxInterleaved, "interleaved sections of {} elements", elements);
  std::vector<bool> seen(static_cast<size_t>(elements));
  int64_t next = 0;
  for (const Section& section : law.sections) {
    if (section.first >= 0) next = section.first;
    const int64_t words = section.words > 0 ? section.words : section.stride;
    for (int64_t i = 0; i < section.slots * words; ++i) {
      const int64_t element = next + i / words * section.stride + i % words;
      TRILITH_REQUIRE(element < elements && !seen[static_cast<size_t>(element)],
                      "element {} of a block in two sections or in none", element);
      seen[static_cast<size_t>(element)] = true;
    }
    next += section.slots * section.stride;
  }
  return {};
}

Status check_fields(const std::vector<Field>& fields, const char* name) {
  if (fields.empty()) return {};
  int codes = 0;
  int scales = 0;
  int minima = 0;
  for (const Field& field : fields) {
    TRILITH_REQUIRE(field.count >= 0 && field.count <= kMaxEntries, "{}: count {}", name,
                    field.count);
    codes += field.kind == FieldKind::kCodes ? 1 : 0;
    scales += field.kind == FieldKind::kScale ? 1 : 0;
    minima += field.kind == FieldKind::kMin ? 1 : 0;
    const bool some = field.kind == FieldKind::kScale || field.kind == FieldKind::kMin;
    TRILITH_REQUIRE(!some || field.count >= 1, "{}: no scale or minimum in its field", name);
    TRILITH_REQUIRE((field.kind != FieldKind::kCodes && field.kind != FieldKind::kHighBits) ||
                        (field.count == 0 && field.dtype == DType::kU8),
                    "{}: the codes are as many bytes as the law needs (count 0)", name);
  }
  TRILITH_REQUIRE(codes == 1, "{}: the codes must occur once", name);
  TRILITH_REQUIRE(scales <= 1 && minima <= 1, "{}: more than one scale or minimum", name);
  return {};
}

// How many entries the fields of scales, minima, sub-scales and high bits have.
Status check_counts(const PackingSpec& spec) {
  const Law& law = spec.law;
  const bool by_block = spec.scale.index == Scale::Index::kBlock && spec.scale.group > 0;
  const int64_t a_block = by_block ? law.block_elements / spec.scale.group : 1;
  int64_t high = 0;
  int64_t sub_scales = 0;
  for (const auto* fields : {&law.fields, &law.line_fields, &law.tensor_fields}) {
    for (const Field& field : *fields) {
      const int64_t wanted = fields == &law.fields ? a_block : 1;
      const bool some = field.kind == FieldKind::kScale || field.kind == FieldKind::kMin;
      TRILITH_REQUIRE(!some || field.count == wanted, "{} scales or minima in a field for {}",
                      field.count, wanted);
      high += field.kind == FieldKind::kHighBits ? 1 : 0;
      TRILITH_REQUIRE(field.kind != FieldKind::kHighBits || fields == &law.fields,
                      "high bits lie in a block");
      if (field.kind != FieldKind::kSubScales) continue;
      ++sub_scales;
      const int64_t bytes = shape_of(spec.scale.sub_layout).bytes;
      TRILITH_REQUIRE(fields == &law.fields && field.dtype == DType::kU8 && field.count == bytes,
                      "sub-scales of this layout are {} bytes of a block", bytes);
    }
  }
  TRILITH_REQUIRE(high == (law.plane_strides.empty() || law.fields.empty() ? 0 : 1),
                  "fields of a block with planes name their high bits, and no others do");
  const bool two_levels = spec.scale.index == Scale::Index::kSubBlock;
  TRILITH_REQUIRE(two_levels == (sub_scales == 1) && sub_scales <= 1 &&
                      two_levels == (spec.scale.sub_layout != Scale::SubLayout::kNone),
                  "sub-scales, their layout and the scale index disagree");
  if (!two_levels) return {};
  const SubLayoutShape shape = shape_of(spec.scale.sub_layout);
  TRILITH_REQUIRE(law.axis == Axis::kK && spec.orient == Orientation::kNK &&
                      spec.scale.group * shape.count == law.block_elements,
                  "{} sub-scales of {} elements in a block of {}", shape.count, spec.scale.group,
                  law.block_elements);
  TRILITH_REQUIRE(spec.scale.dtype == DType::kF16 && spec.scale.place == Scale::Place::kBlock,
                  "two-level scales are F16 inside the block");
  TRILITH_REQUIRE(shape.has_minima == (spec.zero.kind == Zero::Kind::kFloatShift) &&
                      (shape.has_minima || spec.zero.kind == Zero::Kind::kNone),
                  "minima go with a float shift");
  TRILITH_REQUIRE(
      !shape.has_minima || std::any_of(law.fields.begin(), law.fields.end(),
                                       [](const Field& f) { return f.kind == FieldKind::kMin; }),
      "a layout of minima needs their scale");
  return {};
}

}  // namespace

bool is_permutation_of(const std::vector<int>& order, int slots) {
  std::vector<bool> seen(static_cast<size_t>(slots));
  if (order.size() != seen.size()) return false;
  for (const int field : order) {
    if (field < 0 || field >= slots || seen[static_cast<size_t>(field)]) return false;
    seen[static_cast<size_t>(field)] = true;
  }
  return true;
}

Status check_law(const PackingSpec& spec) {
  const Law& law = spec.law;
  TRILITH_REQUIRE(
      law.word_bits == 8 || law.word_bits == 16 || law.word_bits == 32 || law.word_bits == 64,
      "words of {} bits", law.word_bits);
  TRILITH_REQUIRE(law.byte_order == ByteOrder::kLittle || law.word_bits > 8,
                  "single bytes have no byte order");
  if (spec.symbol != Symbol::kPair && spec.symbol != Symbol::kTriple) {
    TRILITH_RETURN_IF_ERROR(check_slots(spec, law.sub_planes.empty() ? law.slots : 1));
  }
  TRILITH_REQUIRE(law.slots >= 1 && law.slots <= 64, "{} slots", law.slots);
  TRILITH_REQUIRE(law.stride.value >= 1 && law.stride.value * law.slots <= kMaxRun &&
                      law.stride.value <= kMaxRun,
                  "stride {}", law.stride.value);
  TRILITH_REQUIRE(
      law.stride.kind == Stride::Kind::kFixed ? law.stride.granule == 1 : law.stride.value == 1,
      "a stride is a number or extent/slots, not both");
  TRILITH_REQUIRE(
      law.stride.granule == -1 || (law.stride.granule >= 1 && law.stride.granule <= kMaxRun),
      "granule {}", law.stride.granule);
  TRILITH_REQUIRE(law.slot_order == SlotOrder::kExplicit
                      ? is_permutation_of(law.explicit_order, law.slots)
                      : law.explicit_order.empty(),
                  "an explicit slot order is a permutation of 0 … slots − 1");
  TRILITH_REQUIRE((law.unit == UnitScope::kTile) == (law.tile.kind != TileMap::Kind::kNone),
                  "a tile unit needs a tile order and the other way round");
  TRILITH_REQUIRE((law.unit == UnitScope::kBlock) == (law.block_elements != 0) &&
                      law.block_elements >= 0 && law.block_elements <= kMaxRun,
                  "block of {} elements", law.block_elements);
  TRILITH_REQUIRE(law.axis != Axis::kFlat || law.unit != UnitScope::kLine,
                  "the flattened matrix is one tensor unit or blocks");
  if (!law.sections.empty()) {
    TRILITH_REQUIRE(law.unit == UnitScope::kBlock && law.slots == 1 && law.stride == Stride{} &&
                        law.slot_order != SlotOrder::kExplicit && law.sub_planes.empty() &&
                        law.bitstream == Bitstream::kNone && law.sections.size() <= 64,
                    "sections replace slots and stride inside a block");
    TRILITH_RETURN_IF_ERROR(check_sections(spec));
  }
  const bool whole_numbers =
      spec.symbol == Symbol::kInt || spec.symbol == Symbol::kTable || spec.symbol == Symbol::kFloat;
  if (law.bitstream != Bitstream::kNone) {
    TRILITH_REQUIRE(whole_numbers && law.slots == 1 && law.stride == Stride{} &&
                        law.slot_order == SlotOrder::kLowFirst && law.sub_planes.empty(),
                    "a dense bitstream has no slots");
  }
  if (!law.sub_planes.empty()) {
    int bits = 0;
    for (const int width : law.sub_planes) {
      TRILITH_REQUIRE(width >= 1 && width <= 8, "a sub-plane of {} bits", width);
      bits += width;
    }
    TRILITH_REQUIRE(whole_numbers && bits == spec.bits && law.slots == 1 &&
                        law.slot_order != SlotOrder::kExplicit && law.sub_planes.size() > 1,
                    "sub-planes of {} bits in all for {} bits", bits, spec.bits);
  }
  if (!law.plane_strides.empty()) {
    TRILITH_REQUIRE(law.plane_strides.size() == law.sub_planes.size() && law.stride == Stride{} &&
                        law.unit == UnitScope::kBlock,
                    "strides of planes belong to sub-planes of a block");
    for (const int64_t stride : law.plane_strides) {
      TRILITH_REQUIRE(stride >= 1 && stride <= kMaxRun / 64, "stride {}", stride);
    }
  }
  return {};
}

Status check_places(const PackingSpec& spec) {
  const Law& law = spec.law;
  TRILITH_RETURN_IF_ERROR(check_fields(law.fields, "fields"));
  TRILITH_RETURN_IF_ERROR(check_fields(law.line_fields, "line_fields"));
  TRILITH_RETURN_IF_ERROR(check_fields(law.tensor_fields, "tensor_fields"));
  const bool contiguous =
      law.axis == Axis::kFlat || (law.axis == Axis::kK) == (spec.orient == Orientation::kNK);
  const bool blocks = law.unit == UnitScope::kBlock;
  TRILITH_REQUIRE(law.fields.empty() || (contiguous && (blocks || law.unit == UnitScope::kLine)),
                  "fields need blocks or lines whose words lie together");
  TRILITH_REQUIRE(law.line_fields.empty() || (contiguous && blocks && law.axis != Axis::kFlat),
                  "line_fields need lines of blocks whose words lie together");
  const bool any_fields =
      !law.fields.empty() || !law.line_fields.empty() || !law.tensor_fields.empty();
  TRILITH_REQUIRE(
      !any_fields || (dtype_size(spec.container) == 1 && !spec.stacked_planes &&
                      law.sub_planes.size() == law.plane_strides.size() &&
                      spec.symbol != Symbol::kBitPlanes && spec.symbol != Symbol::kFloatContainer),
      "fields lie among the bytes of one tensor of codes");

  const auto has = [](const std::vector<Field>& fields, FieldKind kind) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const Field& field) { return field.kind == kind; });
  };
  const bool in_unit = has(law.fields, FieldKind::kScale);
  const bool in_block = in_unit && blocks;
  const bool in_line = (in_unit && !blocks) || has(law.line_fields, FieldKind::kScale);
  const bool in_tensor = has(law.tensor_fields, FieldKind::kScale);
  TRILITH_REQUIRE(static_cast<int>(in_block) + in_line + in_tensor <= 1, "two places of the scale");
  const Scale& scale = spec.scale;
  TRILITH_RETURN_IF_ERROR(check_counts(spec));
  TRILITH_REQUIRE((scale.place == Scale::Place::kBlock) == in_block &&
                      (scale.place == Scale::Place::kLine) == in_line &&
                      (scale.place == Scale::Place::kTail) == in_tensor,
                  "scale.place and the fields disagree");
  const auto line_index = law.axis == Axis::kN ? Scale::Index::kColumn : Scale::Index::kRow;
  TRILITH_REQUIRE(
      !in_block || scale.index == Scale::Index::kBlock || scale.index == Scale::Index::kSubBlock,
      "a scale in the block has index block");
  TRILITH_REQUIRE(!in_line || scale.index == line_index,
                  "a scale in the line has its line's index");
  TRILITH_REQUIRE(!in_tensor || scale.index == Scale::Index::kTensor,
                  "a scale around the tensor has index tensor");
  TRILITH_REQUIRE(
      (scale.place == Scale::Place::kImplicit) ==
          (spec.symbol == Symbol::kFloatContainer && scale.index != Scale::Index::kNone),
      "implicit scales belong to float containers");
  for (const auto* fields : {&law.fields, &law.line_fields, &law.tensor_fields}) {
    TRILITH_REQUIRE(!has(*fields, FieldKind::kMin) || has(*fields, FieldKind::kScale) ||
                        has(*fields, FieldKind::kSubScales),
                    "a minimum lies beside its scale");
    for (const Field& field : *fields) {
      TRILITH_REQUIRE(field.kind != FieldKind::kScale || field.dtype == scale.dtype,
                      "scale.dtype and the field disagree");
      TRILITH_REQUIRE(field.kind != FieldKind::kMin || field.dtype == spec.zero.dtype,
                      "zero.dtype and the field disagree");
      TRILITH_REQUIRE(field.kind != FieldKind::kMin || spec.zero.kind == Zero::Kind::kFloat ||
                          spec.zero.kind == Zero::Kind::kFloatBias ||
                          spec.zero.kind == Zero::Kind::kFloatShift,
                      "a minimum is a float zero, bias or shift");
    }
  }
  return {};
}

}  // namespace trilith::packing
