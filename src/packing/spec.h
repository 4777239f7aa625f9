// PackingSpec: how a logical weight matrix W[N, K] (y = x·Wᵀ) lies in stored tensors, as a value.
// A named format is one such value; decode and encode (codec.h) are generic over it.
//
// The strided-slot law. Take the lines of elements along `axis` (the rows of W for K, its columns
// for N, the whole flattened matrix for flat). A line restarts at each `unit`. Inside a unit,
// `slots` elements share a word and neighbours in a word are `stride` elements apart:
//     B = stride · slots;  b = e div B;  r = e mod B
//     word = b · stride + r mod stride;  slot = r div stride;  bit field = slot_order[slot]
// stride 1: neighbours share a word; stride 32: block planes; stride extent/slots: the line in
// `slots` equal parts (quarter planes). The words of all lines are stored as a matrix in which the
// packed axis is shortened, row-major in `orient` (NK: W, KN: Wᵀ).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/result.h"

namespace trilith::packing {

enum class Symbol {
  kInt,             // an integer of `bits` bits
  kTable,           // `bits` bits that index a table of arbitrary levels (NF4)
  kBase3,           // several trits in a word
  kPair,            // two trits in a nibble (9 values)
  kTriple,          // three trits as a magnitude nibble and a separate sign
  kBitPlanes,       // one bit a weight in each of several planes
  kFloat,           // small floats (e4m3, e2m1)
  kFloatContainer,  // ordinary floats that take few values
};
enum class Orientation { kNK, kKN };
enum class Axis { kK, kN, kFlat };
enum class UnitScope { kTensor, kLine, kBlock, kTile };
enum class SlotOrder { kLowFirst, kHighFirst, kExplicit };
enum class ByteOrder { kLittle, kBig };
enum class Bitstream { kNone, kLsbFirst, kMsbFirst };

// What a part of a unit (a block, a line or the tensor) holds, in stored order.
enum class FieldKind { kCodes, kScale, kMin, kSubScales, kSigns, kHighBits, kPadding };
struct Field {
  FieldKind kind = FieldKind::kCodes;
  DType dtype = DType::kU8;  // of one entry; codes are bytes
  int64_t count = 0;         // entries; 0 for codes: as many as the law needs
  bool operator==(const Field&) const = default;
};

struct Stride {
  enum class Kind { kFixed, kExtentOverSlots } kind = Kind::kFixed;
  int64_t value = 1;  // elements, for kFixed
  // kExtentOverSlots: the line is padded to a multiple of slots · granule elements first
  // (HQQ pads whole rows of its grouped view). −1: one row of the stored matrix.
  int64_t granule = 1;
  bool operator==(const Stride&) const = default;
};

// A run of slots · stride elements in `stride` words; several in a row make up a block (TQ1_0).
// With `words`: word i < words holds elements first + i + slot · stride, so that sections may
// interleave (IQ1_BN: every 16th element apart from the rest).
struct Section {
  int64_t slots = 0;
  int64_t stride = 1;
  int64_t first = -1;  // element of the block; −1: behind the section before
  int64_t words = 0;   // 0: as many as the stride
  bool operator==(const Section&) const = default;
};

struct TileMap {
  enum class Kind { kNone, kBitnetGpu, kTl1, kTl2, kTmac } kind = Kind::kNone;
  // Parameters of the loop nest, where the kind has any. tl1: BM, BK and 256 / bm; t-mac: bm and
  // kfactor.
  int64_t bm = 0, bk = 0, by = 0;
  bool operator==(const TileMap&) const = default;
};

struct Law {
  int word_bits = 8;  // 8, 16, 32 or 64
  int slots = 1;      // elements a word
  Stride stride;
  SlotOrder slot_order = SlotOrder::kLowFirst;
  std::vector<int> explicit_order;  // field of slot i, for kExplicit
  Axis axis = Axis::kK;
  UnitScope unit = UnitScope::kLine;
  int64_t block_elements = 0;        // for kBlock
  std::vector<Field> fields;         // of a unit; empty: codes only
  std::vector<Field> line_fields;    // around the blocks of a line (IQ2_BN: f32 scale first)
  std::vector<Field> tensor_fields;  // around everything (I2_S: f32 scale and padding last)
  std::vector<Section> sections;     // replaces slots and stride inside a block
  ByteOrder byte_order = ByteOrder::kLittle;
  Bitstream bitstream = Bitstream::kNone;  // dense codes that straddle words
  std::vector<int> sub_planes;             // widths of unequal planes, lowest bits first (3 = 2+1)
  // Strides of the sub-planes when they lie together in each block, one behind the other or where
  // `fields` says (codes: the first, high bits: the second). Empty: a tensor a plane.
  std::vector<int64_t> plane_strides;
  TileMap tile;
  bool operator==(const Law&) const = default;
};

// Radix-3 words.
struct Digits {
  enum class Order { kLsbFirst, kMsbFirst } order = Order::kLsbFirst;
  enum class Map { kPlain, kCeil256 } map = Map::kPlain;  // kCeil256: byte = ceil(q · 256 / 243)
  int pad_digit = 0;
  bool operator==(const Digits&) const = default;
};

enum class PlaneRole { kPositive, kNegative, kSign, kNonzero, kBit };

// Level of each code. kList carries them; the others are rules over `bits`.
struct CodeTable {
  enum class Kind {
    kList,            // levels[code]; nullopt = a code that never occurs
    kUnsigned,        // code
    kTwosComplement,  // sign-extended
    kOffset,          // code − offset
    kSignMagnitude,   // top bit is the sign
    kE2M1,
    kE4M3,
    kE5M2,
    kTensor,  // the table lies in the file, under the role "table"
    kNative,  // the container's own numbers
    kPlanes,  // given by the roles of the bit planes
  } kind = Kind::kList;
  std::vector<std::optional<double>> levels;
  int64_t offset = 0;
  DType dtype = DType::kF32;  // of the table in the file, for kTensor
  bool operator==(const CodeTable&) const = default;

  static CodeTable list(std::vector<std::optional<double>> levels);
  static CodeTable rule(Kind kind, int64_t offset = 0);
  // The level of every code 0 … 2^bits − 1 (3 entries for trits, bits 0). Empty for kTensor and
  // kPlanes, whose levels lie elsewhere; kNative counts as two's complement.
  std::vector<std::optional<double>> resolve(int bits) const;
};

struct Pad {
  enum class Scope { kNone, kLine, kGroup, kTensor } scope = Scope::kNone;
  int code = 0;  // stored in unused slots
  bool operator==(const Pad&) const = default;
};

struct Scale {
  enum class Index {
    kNone,
    kTensor,
    kRow,
    kColumn,
    kRowGroup,   // [N, K/group], or [K/group, N] by layout
    kBlock,      // one a law block, or one each `group` elements of it
    kFlatBlock,  // element div group, over the flattened matrix
    kModulo,     // element mod (N·K/group)
    kSegment,    // `segments` equal parts along segment_axis
    kRankOne,    // row factor × column factor
    kSubBlock,   // two levels: block scale × small integer a sub-block of `group` elements
  } index = Index::kTensor;
  enum class Op { kMultiply, kDivide, kMultiplyPowerOfTwo } op = Op::kMultiply;
  enum class Layout { kRowMajor, kTransposed } layout = Layout::kRowMajor;  // [N, K/g] · [K/g, N]
  // Where the numbers lie.
  enum class Place { kTensor, kBlock, kLine, kTail, kImplicit } place = Place::kTensor;
  DType dtype = DType::kF32;
  int64_t group = 0;  // elements along K; 0 = not grouped, −1 = the whole row
  int64_t segments = 0;
  std::vector<int64_t> segment_lengths;  // of unequal segments; empty: equal ones
  Axis segment_axis = Axis::kN;          // in a QuantMatrix also the axis of the blocks of kBlock
  double factor = 1.0;  // constant that multiplies every scale (1/127 for absmax rows)
  // The stored scales of a row (without groups: all of them) and its zero points are filled up to a
  // multiple of this.
  int64_t stored_multiple = 1;
  // One more scale, of the whole matrix, in the tensor "global_scale".
  enum class Global { kNone, kMultiply, kDivide } global = Global::kNone;
  // How the small integers of kSubBlock lie in their field (k_quants.h).
  enum class SubLayout { kNone, kQ2K, kQ3K, kQ4K, kQ6K, kIq4Xs } sub_layout = SubLayout::kNone;
  // The stored scales are codes themselves: scale = scale_table[code] · scale_scale[i div group]
  // + offset.
  int64_t nested_group = 0;  // 0: they are not
  double nested_offset = 0;
  bool operator==(const Scale&) const = default;
};

struct Zero {
  enum class Kind {
    kNone,
    kConstant,    // (q − value) · s
    kInteger,     // (q − z) · s, z in a tensor
    kFloat,       // (q − z) · s, z a float in a tensor
    kFloatBias,   // q · s + b
    kFloatShift,  // q · s − b
  } kind = Kind::kNone;
  int64_t value = 0;
  DType dtype = DType::kF32;    // of the stored zeros (of a word of packed ones)
  int bits = 0;                 // of a packed integer zero; 0: one element each
  Axis packed_axis = Axis::kN;  // kN: along the rows of W, kK: along the groups of a row
  SlotOrder slot_order = SlotOrder::kLowFirst;
  std::vector<int> explicit_order;
  bool stored_minus_one = false;  // GPTQ v1
  bool bitstream = false;         // packed densely, straddling words
  std::vector<int> sub_planes;    // packed in planes, a word's bits of zero points at a time
  bool operator==(const Zero&) const = default;
};

struct Regroup {  // changes which scale an element has, not where it lies
  int axis = 1;
  int64_t group = 0;  // 0 = none
  bool operator==(const Regroup&) const = default;
};

struct RowMap {
  enum class Kind { kIdentity, kRopePermute, kRopePermuteInverse } kind = Kind::kIdentity;
  int64_t heads = 0;
  bool operator==(const RowMap&) const = default;
};

struct Pre {  // applied to the linear's input
  enum class Kind { kNone, kRmsNorm, kColumnFactor, kHadamard } kind = Kind::kNone;
  int64_t block = 0;  // of the Hadamard transform
  bool operator==(const Pre&) const = default;
};
enum class Post { kNone, kLayerNorm, kInt8FakeQuant, kResidualAdd };
enum class Activation { kNone, kInt8Token, kInt8Static, kOutlierSplit, kUndecidable };

struct PackingSpec {
  Symbol symbol = Symbol::kInt;
  int bits = 2;  // stored bits a weight; trits: 0
  DType container = DType::kU8;
  Orientation orient = Orientation::kNK;
  Law law;
  Digits digits;                  // kBase3
  std::vector<PlaneRole> planes;  // kBitPlanes; several ternary planes otherwise
  bool stacked_planes = false;    // one tensor [planes, …] in place of one tensor a plane
  CodeTable code_table;
  Pad pad;
  Scale scale;
  Zero zero;
  bool group_index = false;  // a g_idx tensor names the group of each column
  Regroup regroup;
  RowMap row_map;
  Pre pre;
  Post post = Post::kNone;
  Activation activation = Activation::kNone;
  bool operator==(const PackingSpec&) const = default;
};

// The level of every code of a spec: code_table over the container's numbers and the plane roles.
// Empty for kTensor.
std::vector<std::optional<double>> levels_of(const PackingSpec& spec);

// The vocabulary is described in docs/FORMATS.md; unknown keys are refused, absent ones default.
Json to_json(const PackingSpec& spec);
Result<PackingSpec> spec_from_json(const Json& json);
// One line for people: "2-bit, 4 a byte along K, low first, {0,+1,−1}, row scale F16 multiply".
std::string describe(const PackingSpec& spec);
// Inconsistent values (slots · bits > word_bits, an order that is no permutation, …).
Status validate(const PackingSpec& spec);

}  // namespace trilith::packing
