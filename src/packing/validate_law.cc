// What makes a law consistent. The limits here are what lets layout.cc compute without fear of
// overflow.
#include <algorithm>

#include "packing/validate_parts.h"

namespace trilith::packing {
namespace {

constexpr int64_t kMaxEntries = int64_t{1} << 20;  // of a field

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
    const bool one = field.kind == FieldKind::kScale || field.kind == FieldKind::kMin;
    TRILITH_REQUIRE(!one || field.count == 1, "{}: a scale or minimum counts 1", name);
    TRILITH_REQUIRE(
        field.kind != FieldKind::kCodes || (field.count == 0 && field.dtype == DType::kU8),
        "{}: the codes are as many bytes as the law needs (count 0)", name);
  }
  TRILITH_REQUIRE(codes == 1, "{}: the codes must occur once", name);
  TRILITH_REQUIRE(scales <= 1 && minima <= 1, "{}: more than one scale or minimum", name);
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
  TRILITH_REQUIRE(law.stride.granule >= 1 && law.stride.granule <= kMaxRun, "granule {}",
                  law.stride.granule);
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
    int64_t elements = 0;
    for (const Section& section : law.sections) {
      TRILITH_RETURN_IF_ERROR(check_slots(spec, section.slots));
      TRILITH_REQUIRE(section.stride >= 1 && section.stride <= kMaxRun / 64, "stride {}",
                      section.stride);
      elements += section.slots * section.stride;
    }
    TRILITH_REQUIRE(elements == law.block_elements, "sections of {} elements in a block of {}",
                    elements, law.block_elements);
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
  TRILITH_REQUIRE(!any_fields || (dtype_size(spec.container) == 1 && !spec.stacked_planes &&
                                  law.sub_planes.empty() && spec.symbol != Symbol::kBitPlanes &&
                                  spec.symbol != Symbol::kFloatContainer),
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
