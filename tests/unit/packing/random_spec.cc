#include "random_spec.h"

#include <rapidcheck.h>

#include "packing/layout.h"
#include "random_law.h"

namespace trilith::packing::testing {

int64_t roll(int64_t low, int64_t high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}
bool coin() { return roll(0, 1) == 1; }

namespace {

DType container_of(int word_bits) {
  switch (word_bits) {
    case 8:
      return coin() ? DType::kU8 : DType::kI8;
    case 16:
      return pick<DType>({DType::kU16, DType::kI16, DType::kU8});
    case 32:
      return pick<DType>({DType::kU32, DType::kI32, DType::kU8});
    default:
      return pick<DType>({DType::kU64, DType::kI64, DType::kI32});
  }
}

CodeTable random_table(const PackingSpec& spec) {
  const int limit = spec.bits == 0 ? 3 : 1 << spec.bits;
  if (spec.bits == 0 || coin()) {
    std::vector<std::optional<double>> levels;
    const int64_t count = spec.bits == 0 ? 3 : roll(2, limit);
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0 && spec.bits != 0 && roll(0, 5) == 0) {
        levels.emplace_back(std::nullopt);
      } else {
        levels.emplace_back(static_cast<double>(roll(-300, 300)) / 2);
      }
    }
    return CodeTable::list(std::move(levels));
  }
  std::vector<CodeTable> rules = {CodeTable::rule(CodeTable::Kind::kUnsigned),
                                  CodeTable::rule(CodeTable::Kind::kTwosComplement),
                                  CodeTable::rule(CodeTable::Kind::kOffset, roll(-9, 200)),
                                  CodeTable::rule(CodeTable::Kind::kSignMagnitude)};
  const bool planes = spec.symbol == Symbol::kBitPlanes;
  if (spec.law.slots == 1 && !planes) {
    rules.push_back(CodeTable::rule(CodeTable::Kind::kNative));
  }
  if (spec.bits == 4) rules.push_back(CodeTable::rule(CodeTable::Kind::kE2M1));
  if (spec.bits == 8) rules.push_back(CodeTable::rule(CodeTable::Kind::kE4M3));
  if (spec.bits == 8) rules.push_back(CodeTable::rule(CodeTable::Kind::kE5M2));
  if (spec.symbol == Symbol::kTable) {
    rules.push_back(CodeTable::rule(CodeTable::Kind::kTensor));
    rules.back().dtype = coin() ? DType::kF16 : DType::kF32;
  }
  return pick(rules);
}

int64_t random_divisor(int64_t value) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= value; ++d) {
    if (value % d == 0) divisors.push_back(d);
  }
  return pick(divisors);
}

void random_scale(PackingSpec& spec, int64_t rows, int64_t cols) {
  Scale& scale = spec.scale;
  using Index = Scale::Index;
  if (scale.place == Scale::Place::kTensor) {
    std::vector<Index> choices = {Index::kNone,     Index::kTensor,  Index::kRow,    Index::kColumn,
                                  Index::kRowGroup, Index::kRankOne, Index::kSegment};
    if (spec.orient == Orientation::kNK) {
      choices.push_back(Index::kFlatBlock);
      choices.push_back(Index::kModulo);
    }
    const bool flat_kn = spec.orient == Orientation::kKN && spec.law.axis == Axis::kFlat;
    if (spec.law.unit == UnitScope::kBlock && !flat_kn) choices.push_back(Index::kBlock);
    scale.index = pick(choices);
    scale.dtype = pick<DType>(
        {DType::kF16, DType::kBF16, DType::kF32, DType::kF8E4M3, DType::kF8E8M0, DType::kF64});
  }
  scale.op =
      pick<Scale::Op>({Scale::Op::kMultiply, Scale::Op::kDivide, Scale::Op::kMultiplyPowerOfTwo});
  if (scale.index == Index::kRankOne) scale.op = Scale::Op::kMultiply;
  if (scale.op == Scale::Op::kMultiplyPowerOfTwo && scale.place == Scale::Place::kTensor &&
      coin()) {
    scale.dtype = DType::kI8;
  }
  if (roll(0, 3) == 0) scale.factor = static_cast<double>(roll(1, 9)) / 127;
  if (scale.index == Index::kRowGroup) {
    scale.group = roll(-1, 9);
    if (coin()) scale.layout = Scale::Layout::kTransposed;
    spec.group_index = scale.group != 0 && coin();
  }
  if (scale.index == Index::kFlatBlock) scale.group = roll(1, 50);
  if (scale.index == Index::kModulo) scale.group = random_divisor(rows * cols);
  if (scale.index == Index::kBlock) {
    scale.group = spec.law.block_elements;
    const int64_t extent = spec.law.axis == Axis::kFlat ? rows * cols
                           : spec.law.axis == Axis::kK  ? cols
                                                        : rows;
    if (extent % spec.law.block_elements == 0 && coin()) {
      scale.group = random_divisor(spec.law.block_elements);
      for (Field& field : spec.law.fields) {
        const bool some = field.kind == FieldKind::kScale || field.kind == FieldKind::kMin;
        if (some) field.count = spec.law.block_elements / scale.group;
      }
    }
  }
  if (scale.index == Index::kSegment) {
    scale.segment_axis = coin() ? Axis::kN : Axis::kK;
    const int64_t extent = scale.segment_axis == Axis::kN ? rows : cols;
    scale.segments = random_divisor(extent);
    if (extent > 1 && coin()) {
      const int64_t first = roll(1, extent - 1);
      scale.segment_lengths = {first, extent - first};
      scale.segments = 2;
    }
  }
  if (scale.place == Scale::Place::kTensor && coin()) {
    const bool fillable = scale.index == Index::kTensor || scale.index == Index::kRow ||
                          scale.index == Index::kRowGroup || scale.index == Index::kSegment;
    if (fillable) scale.stored_multiple = roll(1, 9);
    if (scale.index != Index::kNone && scale.op != Scale::Op::kMultiplyPowerOfTwo) {
      scale.global = pick<Scale::Global>({Scale::Global::kMultiply, Scale::Global::kDivide});
    }
  }
}

void random_zero(PackingSpec& spec) {
  Zero& zero = spec.zero;
  if (zero.kind != Zero::Kind::kNone) return;  // already a field
  zero.kind =
      pick<Zero::Kind>({Zero::Kind::kNone, Zero::Kind::kConstant, Zero::Kind::kInteger,
                        Zero::Kind::kFloat, Zero::Kind::kFloatBias, Zero::Kind::kFloatShift});
  if (spec.scale.index == Scale::Index::kNone && zero.kind != Zero::Kind::kConstant) {
    zero.kind = Zero::Kind::kNone;
  }
  if (zero.kind == Zero::Kind::kConstant) zero.value = roll(-9, 9);
  if (zero.kind == Zero::Kind::kNone || zero.kind == Zero::Kind::kConstant) return;
  if (zero.kind != Zero::Kind::kInteger) {
    zero.dtype = pick<DType>({DType::kF16, DType::kBF16, DType::kF32});
    return;
  }
  zero.stored_minus_one = coin();
  zero.dtype = pick<DType>({DType::kI8, DType::kI16, DType::kI32});
  const bool packable =
      spec.scale.index == Scale::Index::kRow || spec.scale.index == Scale::Index::kRowGroup;
  if (!packable || coin()) return;
  zero.dtype = pick<DType>({DType::kU8, DType::kI32, DType::kI64});
  zero.bits = static_cast<int>(roll(1, 8));
  zero.packed_axis = coin() ? Axis::kN : Axis::kK;
  zero.slot_order =
      pick<SlotOrder>({SlotOrder::kLowFirst, SlotOrder::kHighFirst, SlotOrder::kExplicit});
  if (zero.slot_order == SlotOrder::kExplicit) {
    zero.explicit_order =
        random_permutation(static_cast<int>(dtype_size(zero.dtype)) * 8 / zero.bits);
  } else if (zero.slot_order == SlotOrder::kLowFirst && coin()) {
    zero.bitstream = zero.bits < 2 || coin();
    if (!zero.bitstream && 8 % (zero.bits - 1) == 0) zero.sub_planes = {1, zero.bits - 1};
  }
}

PackingSpec random_float_container(int64_t rows, int64_t cols) {
  PackingSpec spec;
  spec.symbol = Symbol::kFloatContainer;
  spec.container = pick<DType>({DType::kF16, DType::kBF16, DType::kF32});
  spec.bits = spec.law.word_bits = static_cast<int>(dtype_size(spec.container)) * 8;
  spec.orient = coin() ? Orientation::kNK : Orientation::kKN;
  spec.code_table =
      pick<CodeTable>({CodeTable::list({-1.0, 0.0, 1.0}), CodeTable::list({0.0, 1.0, -1.0}),
                       CodeTable::list({-1.0, 1.0})});
  spec.scale.index = pick<Scale::Index>(
      {Scale::Index::kTensor, Scale::Index::kRow, Scale::Index::kRowGroup, Scale::Index::kSegment});
  spec.scale.place = Scale::Place::kImplicit;
  if (spec.scale.index == Scale::Index::kRowGroup) spec.scale.group = roll(1, 9);
  if (spec.scale.index == Scale::Index::kSegment) {
    spec.scale.segment_axis = coin() ? Axis::kN : Axis::kK;
    spec.scale.segments = random_divisor(spec.scale.segment_axis == Axis::kN ? rows : cols);
  }
  return spec;
}

// Whether the words of a line fill whole elements of the container.
bool fills_container(const PackingSpec& spec, int64_t rows, int64_t cols) {
  for (const PlaneWidth& plane : planes_of(spec)) {
    if (!Layout::make(spec, plane, rows, cols).ok()) return false;
  }
  return true;
}

}  // namespace

PackingSpec random_spec(int64_t rows, int64_t cols) {
  PackingSpec spec;
  spec.symbol = pick<Symbol>({Symbol::kInt, Symbol::kInt, Symbol::kTable, Symbol::kBase3,
                              Symbol::kBitPlanes, Symbol::kFloat, Symbol::kFloatContainer});
  if (spec.symbol == Symbol::kFloatContainer) return random_float_container(rows, cols);
  spec.orient = coin() ? Orientation::kNK : Orientation::kKN;
  spec.bits = static_cast<int>(roll(1, 8));
  if (spec.symbol == Symbol::kBase3) spec.bits = 0;
  if (spec.symbol == Symbol::kBitPlanes) {
    const int64_t roles = roll(0, 2);
    if (roles == 0) spec.planes = {PlaneRole::kPositive, PlaneRole::kNegative};
    if (roles == 1) spec.planes = {PlaneRole::kNonzero, PlaneRole::kSign};
    if (roles == 2) spec.planes.assign(static_cast<size_t>(spec.bits), PlaneRole::kBit);
    spec.bits = static_cast<int>(spec.planes.size());
    spec.stacked_planes = spec.bits > 1 && coin();
  }
  random_law(spec);
  spec.container = container_of(spec.law.word_bits);
  if (spec.symbol == Symbol::kBase3) {
    spec.digits.order = coin() ? Digits::Order::kLsbFirst : Digits::Order::kMsbFirst;
    if (spec.law.word_bits == 8 && coin()) spec.digits.map = Digits::Map::kCeil256;
    spec.digits.pad_digit = static_cast<int>(roll(0, 2));
  } else {
    spec.pad.code = static_cast<int>(roll(0, (1 << spec.bits) - 1));
  }
  spec.pad.scope = coin() ? Pad::Scope::kNone : Pad::Scope::kLine;
  const bool by_roles = spec.symbol == Symbol::kBitPlanes && spec.planes[0] != PlaneRole::kBit;
  spec.code_table = by_roles ? CodeTable::rule(CodeTable::Kind::kPlanes) : random_table(spec);
  random_fields(spec);
  random_scale(spec, rows, cols);
  random_zero(spec);
  if (!fills_container(spec, rows, cols)) spec.container = DType::kU8;
  return spec;
}

PackingSpec random_spec_for_json() {
  PackingSpec spec = random_spec(12, 12);
  if (coin()) {
    spec.pre.kind =
        pick<Pre::Kind>({Pre::Kind::kRmsNorm, Pre::Kind::kColumnFactor, Pre::Kind::kHadamard});
    if (spec.pre.kind == Pre::Kind::kHadamard) spec.pre.block = roll(1, 4096);
  }
  if (coin()) spec.post = pick<Post>({Post::kLayerNorm, Post::kInt8FakeQuant, Post::kResidualAdd});
  if (coin()) {
    spec.activation = pick<Activation>({Activation::kInt8Token, Activation::kInt8Static,
                                        Activation::kOutlierSplit, Activation::kUndecidable});
  }
  if (coin()) spec.regroup = {static_cast<int>(roll(0, 1)), roll(0, 256)};
  if (coin()) {
    spec.row_map = {
        pick<RowMap::Kind>({RowMap::Kind::kRopePermute, RowMap::Kind::kRopePermuteInverse}),
        roll(1, 64)};
  }
  if (coin() && spec.law.fields.empty() && spec.law.line_fields.empty() &&
      spec.law.sections.empty() && spec.law.plane_strides.empty() &&
      spec.scale.index != Scale::Index::kBlock) {
    spec.law.unit = UnitScope::kTile;
    spec.law.block_elements = 0;
    spec.law.tile = {pick<TileMap::Kind>({TileMap::Kind::kBitnetGpu, TileMap::Kind::kTl1,
                                          TileMap::Kind::kTl2, TileMap::Kind::kTmac}),
                     roll(0, 99), roll(0, 99), roll(0, 99)};
  }
  if (spec.symbol == Symbol::kBase3 && spec.digits == Digits{} && coin()) {
    spec.symbol = coin() ? Symbol::kPair : Symbol::kTriple;
  }
  return spec;
}

}  // namespace trilith::packing::testing
