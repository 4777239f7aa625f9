// What makes a PackingSpec consistent. Limits here are what lets layout.cc compute without fear of
// overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/validate_parts.h"

namespace trilith::packing {
namespace {

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
  TRILITH_REQUIRE(scale.index != Scale::Index::kBlock ||
                      (spec.law.unit == UnitScope::kBlock && scale.group > 0 &&
                       spec.law.block_elements % scale.group == 0),
                  "scales of blocks need blocks of whole groups");
  TRILITH_REQUIRE(
      scale.stored_multiple >= 1 && scale.stored_multiple <= kMaxEntries &&
          (scale.stored_multiple == 1 || scale.index == Scale::Index::kTensor ||
           scale.index == Scale::Index::kRow || scale.index == Scale::Index::kRowGroup ||
           scale.index == Scale::Index::kSegment),
      "scales stored in multiples of {}", scale.stored_multiple);
  TRILITH_REQUIRE(scale.stored_multiple == 1 || scale.place == Scale::Place::kTensor,
                  "a filling belongs to scales in a tensor");
  TRILITH_REQUIRE(
      scale.global == Scale::Global::kNone ||
          (scale.index != Scale::Index::kNone && scale.op != Scale::Op::kMultiplyPowerOfTwo),
      "a global scale multiplies other scales");
  TRILITH_REQUIRE(scale.nested_group >= 0 && scale.nested_group <= kMaxRun &&
                      std::isfinite(scale.nested_offset) &&
                      (scale.nested_group > 0 || scale.nested_offset == 0),
                  "scales coded in groups of {}", scale.nested_group);
  TRILITH_REQUIRE(
      scale.nested_group == 0 ||
          (scale.place == Scale::Place::kTensor && scale.dtype == DType::kU8 &&
           scale.index != Scale::Index::kNone && scale.layout == Scale::Layout::kRowMajor &&
           scale.op == Scale::Op::kMultiply && scale.stored_multiple == 1 &&
           scale.index != Scale::Index::kRankOne),
      "coded scales are bytes in a tensor of their own");
  TRILITH_REQUIRE((scale.index == Scale::Index::kSegment) == (scale.segments > 0),
                  "segments and the scale index disagree");
  TRILITH_REQUIRE(scale.segment_axis != Axis::kFlat, "segments run along N or K");
  TRILITH_REQUIRE(scale.segment_lengths.empty() ||
                      (static_cast<int64_t>(scale.segment_lengths.size()) == scale.segments &&
                       scale.segments <= kMaxEntries &&
                       std::all_of(scale.segment_lengths.begin(), scale.segment_lengths.end(),
                                   [](int64_t n) { return n >= 1 && n <= kMaxRun; })),
                  "lengths of segments");
  TRILITH_REQUIRE(
      scale.index != Scale::Index::kRankOne || scale.op != Scale::Op::kMultiplyPowerOfTwo,
      "a product of factors is no exponent");
  TRILITH_REQUIRE(
      scale.layout == Scale::Layout::kRowMajor ||
          (scale.index == Scale::Index::kRowGroup && scale.place == Scale::Place::kTensor),
      "a transposed layout belongs to row × group scales");
  TRILITH_REQUIRE(!spec.group_index || (scale.index == Scale::Index::kRowGroup && scale.group != 0),
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
  int plane_bits = 0;
  for (const int width : zero.sub_planes) {
    const bool fills = width >= 1 && static_cast<int>(dtype_size(zero.dtype)) * 8 % width == 0;
    TRILITH_REQUIRE(fills && width <= 8, "zero points in planes of {} bits", width);
    plane_bits += width;
  }
  TRILITH_REQUIRE(zero.sub_planes.empty() || (plane_bits == zero.bits && zero.bits > 0 &&
                                              !zero.bitstream && zero.bits <= 8),
                  "planes of {} bits for zero points of {}", plane_bits, zero.bits);
  TRILITH_REQUIRE(!zero.bitstream || zero.bits > 0, "a bitstream of zero points needs their bits");
  TRILITH_REQUIRE(
      (!zero.bitstream && zero.sub_planes.empty()) || zero.slot_order == SlotOrder::kLowFirst,
      "zero points in a bitstream or in planes have no slot order");
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
