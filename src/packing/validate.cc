// What makes a PackingSpec consistent. Limits here are what lets layout.cc compute without fear of
// overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/spec.h"

namespace trilith::packing {
namespace {

constexpr int64_t kMaxRun = int64_t{1} << 31;      // elements of slots · stride, of a block
constexpr int64_t kMaxEntries = int64_t{1} << 20;  // of a field

Error bad(std::string what) { return Error::usage("inconsistent packing spec: " + what); }

#define TRILITH_REQUIRE(condition, ...) \
  if (!(condition)) return bad(fmt::format(__VA_ARGS__))

bool is_permutation_of(const std::vector<int>& order, int slots) {
  std::vector<bool> seen(static_cast<size_t>(slots));
  if (order.size() != seen.size()) return false;
  for (const int field : order) {
    if (field < 0 || field >= slots || seen[static_cast<size_t>(field)]) return false;
    seen[static_cast<size_t>(field)] = true;
  }
  return true;
}

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

Status check_symbol(const PackingSpec& spec) {
  switch (spec.symbol) {
    case Symbol::kBase3:
      TRILITH_REQUIRE(spec.bits == 0, "trits have bits \"trit\", not {}", spec.bits);
      TRILITH_REQUIRE(spec.law.slot_order == SlotOrder::kLowFirst,
                      "base-3 digits are ordered by `digits`, not by slot_order");
      TRILITH_REQUIRE(spec.digits.pad_digit >= 0 && spec.digits.pad_digit <= 2,
                      "pad digit {} is no trit", spec.digits.pad_digit);
      TRILITH_REQUIRE(spec.digits.map == Digits::Map::kPlain || spec.law.word_bits == 8,
                      "256/243 fractions are bytes");
      TRILITH_REQUIRE(spec.pad.code == 0, "base-3 padding is `pad_digit`");
      break;
    case Symbol::kFloatContainer:
      TRILITH_REQUIRE(spec.container == DType::kF16 || spec.container == DType::kBF16 ||
                          spec.container == DType::kF32,
                      "a float container is F16, BF16 or F32");
      TRILITH_REQUIRE(spec.bits == static_cast<int>(dtype_size(spec.container)) * 8 &&
                          spec.law.word_bits == spec.bits && spec.law.slots == 1,
                      "a float container holds one weight an element");
      break;
    case Symbol::kPair:
    case Symbol::kTriple:
      TRILITH_REQUIRE(spec.bits == 0, "trits have bits \"trit\", not {}", spec.bits);
      break;
    default:
      TRILITH_REQUIRE(spec.bits >= 1 && spec.bits <= 8, "{} bits are not 1 to 8", spec.bits);
  }
  TRILITH_REQUIRE(spec.symbol == Symbol::kBase3 || spec.digits == Digits{},
                  "digits belong to base-3 words");
  const int limit = spec.bits == 0 ? 3 : 1 << std::min(spec.bits, 8);
  TRILITH_REQUIRE(spec.pad.code >= 0 && spec.pad.code < limit, "pad code {} does not fit",
                  spec.pad.code);
  return {};
}

Status check_planes(const PackingSpec& spec) {
  const auto& planes = spec.planes;
  TRILITH_REQUIRE(!spec.stacked_planes || planes.size() > 1, "one plane cannot be stacked");
  TRILITH_REQUIRE(planes.empty() || spec.law.sub_planes.empty(),
                  "planes of the code and planes of bits at once");
  if (spec.symbol != Symbol::kBitPlanes) return {};
  const auto count = [&](PlaneRole role) { return std::count(planes.begin(), planes.end(), role); };
  const bool pairs = planes.size() == 2 &&
                     ((count(PlaneRole::kPositive) == 1 && count(PlaneRole::kNegative) == 1) ||
                      (count(PlaneRole::kSign) == 1 && count(PlaneRole::kNonzero) == 1));
  const bool bits =
      !planes.empty() && count(PlaneRole::kBit) == static_cast<int64_t>(planes.size());
  TRILITH_REQUIRE(pairs || bits,
                  "bit planes are one + and one −, one sign and one nonzero, or bits");
  TRILITH_REQUIRE(spec.bits == static_cast<int>(planes.size()), "{} planes for {} bits",
                  planes.size(), spec.bits);
  TRILITH_REQUIRE((spec.code_table.kind == CodeTable::Kind::kPlanes) == pairs,
                  "the roles of the planes do not go with the code table");
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

// Where fields may lie, and what they go with.
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

Status check_table(const PackingSpec& spec) {
  const CodeTable& table = spec.code_table;
  for (const auto& level : table.levels) {
    TRILITH_REQUIRE(!level || std::isfinite(*level), "a level is not finite");
  }
  TRILITH_REQUIRE(table.kind == CodeTable::Kind::kList || table.levels.empty(),
                  "levels belong to a list");
  TRILITH_REQUIRE(table.kind == CodeTable::Kind::kOffset || table.offset == 0,
                  "an offset belongs to an offset table");
  TRILITH_REQUIRE(std::abs(table.offset) <= kMaxRun, "offset {}", table.offset);
  TRILITH_REQUIRE(table.kind == CodeTable::Kind::kTensor || table.dtype == DType::kF32,
                  "a dtype belongs to a table in the file");
  TRILITH_REQUIRE(
      table.kind != CodeTable::Kind::kTensor || is_float(table.dtype) || is_integer(table.dtype),
      "a table of numbers");
  const size_t most = spec.bits == 0 || spec.bits > 8 ? 3 : size_t{1} << spec.bits;
  switch (table.kind) {
    case CodeTable::Kind::kList:
      TRILITH_REQUIRE(!table.levels.empty() && table.levels.size() <= most,
                      "{} levels for {} codes", table.levels.size(), most);
      break;
    case CodeTable::Kind::kTensor:
      TRILITH_REQUIRE(spec.symbol == Symbol::kTable, "a table in the file needs symbol table");
      break;
    case CodeTable::Kind::kPlanes:
      TRILITH_REQUIRE(spec.symbol == Symbol::kBitPlanes, "code table planes needs bit planes");
      break;
    case CodeTable::Kind::kE2M1:
      TRILITH_REQUIRE(spec.bits == 4, "e2m1 has 4 bits");
      break;
    case CodeTable::Kind::kE4M3:
    case CodeTable::Kind::kE5M2:
      TRILITH_REQUIRE(spec.bits == 8, "an 8-bit float has 8 bits");
      break;
    case CodeTable::Kind::kNative:
      TRILITH_REQUIRE(spec.law.slots == 1 && spec.symbol != Symbol::kBitPlanes &&
                          (!is_float(spec.container) || spec.bits == 8),
                      "native numbers are one an element");
      break;
    default:
      TRILITH_REQUIRE(spec.bits != 0, "trits need a list of levels");
  }
  if (spec.symbol == Symbol::kFloatContainer) {
    TRILITH_REQUIRE(table.kind == CodeTable::Kind::kList, "a float container needs its levels");
    // Other magnitudes fold into the scale, and mixed ones would not determine it.
    const auto is_sign = [](const auto& level) {
      return level && (*level == 0 || std::fabs(*level) == 1);
    };
    TRILITH_REQUIRE(std::all_of(table.levels.begin(), table.levels.end(), is_sign) &&
                        table.levels.size() <= 3 && table.levels.size() >= 2,
                    "the levels of a float container are −1, 0 and +1");
    for (const auto& level : table.levels) {
      TRILITH_REQUIRE(std::count(table.levels.begin(), table.levels.end(), level) == 1,
                      "a level occurs twice");
    }
  }
  return {};
}

Status check_scale(const PackingSpec& spec) {
  const Scale& scale = spec.scale;
  TRILITH_REQUIRE(std::isfinite(scale.factor) && scale.factor != 0, "scale factor {}",
                  scale.factor);
  TRILITH_REQUIRE(scale.dtype != DType::kBool, "scales of type BOOL");
  TRILITH_REQUIRE(scale.group >= -1 && scale.group <= kMaxRun, "scale group {}", scale.group);
  TRILITH_REQUIRE(scale.segments >= 0 && scale.segments <= kMaxRun, "{} segments", scale.segments);
  const bool grouped =
      scale.index == Scale::Index::kFlatBlock || scale.index == Scale::Index::kModulo;
  TRILITH_REQUIRE(!grouped || scale.group > 0, "the scale index needs a group");
  TRILITH_REQUIRE(scale.index != Scale::Index::kBlock || (spec.law.unit == UnitScope::kBlock &&
                                                          scale.group == spec.law.block_elements),
                  "a scale a block needs blocks of that size");
  TRILITH_REQUIRE((scale.index == Scale::Index::kSegment) == (scale.segments > 0),
                  "segments and the scale index disagree");
  TRILITH_REQUIRE(scale.segment_axis != Axis::kFlat, "segments run along N or K");
  TRILITH_REQUIRE(
      scale.index != Scale::Index::kRankOne || scale.op != Scale::Op::kMultiplyPowerOfTwo,
      "a product of factors is no exponent");
  TRILITH_REQUIRE(
      scale.layout == Scale::Layout::kRowMajor ||
          (scale.index == Scale::Index::kRowGroup && scale.place == Scale::Place::kTensor),
      "a transposed layout belongs to row × group scales");
  TRILITH_REQUIRE(!spec.group_index || (scale.index == Scale::Index::kRowGroup && scale.group > 0),
                  "a column index names groups of row × group scales");
  if (spec.symbol == Symbol::kFloatContainer) {
    TRILITH_REQUIRE(scale.op == Scale::Op::kMultiply && scale.factor == 1.0 &&
                        scale.index != Scale::Index::kRankOne && !spec.group_index &&
                        spec.zero.kind == Zero::Kind::kNone,
                    "the scales of a float container follow from its values");
  }
  return {};
}

Status check_zero(const PackingSpec& spec) {
  const Zero& zero = spec.zero;
  TRILITH_REQUIRE(zero.kind == Zero::Kind::kConstant || zero.value == 0,
                  "a value belongs to a constant zero point");
  TRILITH_REQUIRE(std::abs(zero.value) <= kMaxRun, "zero point {}", zero.value);
  if (zero.kind == Zero::Kind::kNone || zero.kind == Zero::Kind::kConstant) {
    Zero plain;
    plain.kind = zero.kind;
    plain.value = zero.value;
    TRILITH_REQUIRE(zero == plain, "a zero point that is not stored has no storage");
    return {};
  }
  TRILITH_REQUIRE(spec.scale.index != Scale::Index::kNone, "zero points go with scales");
  const bool integer = zero.kind == Zero::Kind::kInteger;
  TRILITH_REQUIRE(integer ? is_integer(zero.dtype) : is_float(zero.dtype), "zero points of type {}",
                  dtype_name(zero.dtype));
  TRILITH_REQUIRE(integer || (zero.bits == 0 && !zero.stored_minus_one),
                  "only integer zero points are packed or stored less one");
  TRILITH_REQUIRE(zero.bits >= 0 && zero.bits <= 8, "zero points of {} bits", zero.bits);
  TRILITH_REQUIRE(zero.packed_axis != Axis::kFlat, "zero points are packed along N or K");
  const int slots = zero.bits > 0 ? static_cast<int>(dtype_size(zero.dtype)) * 8 / zero.bits : 0;
  TRILITH_REQUIRE(zero.slot_order == SlotOrder::kExplicit
                      ? slots > 0 && is_permutation_of(zero.explicit_order, slots)
                      : zero.explicit_order.empty(),
                  "an explicit order of zero points is a permutation of the slots of a word");
  TRILITH_REQUIRE(zero.bits == 0 || spec.scale.index == Scale::Index::kRow ||
                      spec.scale.index == Scale::Index::kRowGroup,
                  "packed zero points go with row or row × group scales");
  return {};
}

Status check_rest(const PackingSpec& spec) {
  TRILITH_REQUIRE(spec.regroup.group >= 0 && spec.regroup.group <= kMaxRun &&
                      (spec.regroup.axis == 0 || spec.regroup.axis == 1),
                  "regrouping {} along axis {}", spec.regroup.group, spec.regroup.axis);
  TRILITH_REQUIRE((spec.row_map.kind == RowMap::Kind::kIdentity) == (spec.row_map.heads == 0) &&
                      spec.row_map.heads >= 0,
                  "a row map of {} heads", spec.row_map.heads);
  TRILITH_REQUIRE(
      (spec.pre.kind == Pre::Kind::kHadamard) == (spec.pre.block != 0) && spec.pre.block >= 0,
      "a Hadamard transform of {} columns", spec.pre.block);
  const TileMap& tile = spec.law.tile;
  TRILITH_REQUIRE(tile.bm >= 0 && tile.bk >= 0 && tile.by >= 0, "negative tile sizes");
  TRILITH_REQUIRE(tile.kind != TileMap::Kind::kNone || tile == TileMap{},
                  "tile sizes without tiles");
  return {};
}

#undef TRILITH_REQUIRE

}  // namespace

Status validate(const PackingSpec& spec) {
  TRILITH_RETURN_IF_ERROR(check_symbol(spec));
  TRILITH_RETURN_IF_ERROR(check_law(spec));
  TRILITH_RETURN_IF_ERROR(check_planes(spec));
  TRILITH_RETURN_IF_ERROR(check_table(spec));
  TRILITH_RETURN_IF_ERROR(check_places(spec));
  TRILITH_RETURN_IF_ERROR(check_scale(spec));
  TRILITH_RETURN_IF_ERROR(check_zero(spec));
  return check_rest(spec);
}

}  // namespace trilith::packing
