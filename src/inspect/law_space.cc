#include "inspect/law_space.h"

#include <algorithm>

#include "packing/catalogue.h"

namespace trilith::inspect {
namespace {

using packing::Axis;
using packing::Bitstream;
using packing::CodeTable;
using packing::Digits;
using packing::Field;
using packing::FieldKind;
using packing::Orientation;
using packing::PackingSpec;
using packing::Scale;
using packing::SlotOrder;
using packing::Stride;
using packing::Symbol;
using packing::UnitScope;

// Nats of conventions, relative to the commonest (neighbours in a word, lowest bits first): more
// than the chance correlations of an order that nothing confirms. They order readings and settle
// nothing.
constexpr double kUnusual = 6;
constexpr double kRare = 10;

PackingSpec bare(Symbol symbol, int bits, DType container, int slots) {
  PackingSpec spec;
  spec.symbol = symbol;
  spec.bits = bits;
  spec.container = container;
  spec.law.word_bits = static_cast<int>(dtype_size(container)) * 8;
  spec.law.slots = slots;
  spec.code_table =
      bits == 0 ? CodeTable::list({0.0, 1.0, 2.0}) : CodeTable::rule(CodeTable::Kind::kUnsigned);
  spec.scale.index = Scale::Index::kNone;
  return spec;
}

struct Placed {
  Orientation orient;
  Axis axis;
};
constexpr Placed kPlaces[] = {{Orientation::kNK, Axis::kK},
                              {Orientation::kKN, Axis::kK},
                              {Orientation::kNK, Axis::kN},
                              {Orientation::kKN, Axis::kN},
                              {Orientation::kNK, Axis::kFlat}};

void place(CandidateLaw& law, const Placed& placed) {
  law.spec.orient = placed.orient;
  law.spec.law.axis = placed.axis;
  if (placed.axis == Axis::kFlat) {
    law.spec.law.unit = UnitScope::kTensor;
    law.prior -= kUnusual;
  }
}

// AWQ interleaves the halves of a word; other packers of eight nibbles may as well.
void add_orders(std::vector<CandidateLaw>& laws, const CandidateLaw& base) {
  laws.push_back(base);
  if (base.spec.law.slots < 2) return;
  CandidateLaw high = base;
  high.spec.law.slot_order = SlotOrder::kHighFirst;
  high.prior -= kUnusual;
  laws.push_back(high);
  if (base.spec.law.slots != 8 || base.spec.law.word_bits != 32) return;
  CandidateLaw mixed = base;
  mixed.spec.law.slot_order = SlotOrder::kExplicit;
  mixed.spec.law.explicit_order = {0, 4, 1, 5, 2, 6, 3, 7};
  // Along N the interleaved order is the usual one: it is what the kernels of that layout load.
  if (base.spec.law.axis == Axis::kN && base.spec.orient == Orientation::kKN) {
    laws[laws.size() - 2].prior -= kUnusual;
  } else {
    mixed.prior -= kRare;
  }
  laws.push_back(mixed);
}

void add_strides(std::vector<CandidateLaw>& laws, const CandidateLaw& base) {
  const bool flat = base.spec.law.axis == Axis::kFlat;
  add_orders(laws, base);
  if (base.spec.law.slots < 2) return;
  CandidateLaw planes = base;
  planes.spec.law.stride = {Stride::Kind::kExtentOverSlots, 1, 1};
  // Four rows of a byte lie a quarter of the matrix apart as often as they are neighbours.
  if (base.spec.law.axis == Axis::kK) planes.prior -= kUnusual;
  add_orders(laws, planes);
  if (flat) return;
  for (const int64_t stride : {16, 32, 64}) {
    CandidateLaw blocks = base;
    blocks.spec.law.stride.value = stride;
    blocks.prior -= kRare;
    add_orders(laws, blocks);
  }
}

void add_bitstreams(std::vector<CandidateLaw>& laws, DType dtype, int bits) {
  for (const Bitstream order : {Bitstream::kLsbFirst, Bitstream::kMsbFirst}) {
    for (const Placed& placed : kPlaces) {
      CandidateLaw law{bare(Symbol::kInt, bits, dtype, 1), 0};
      law.spec.law.bitstream = order;
      place(law, placed);
      laws.push_back(law);
    }
  }
}

void add_base3(std::vector<CandidateLaw>& laws, DType dtype) {
  const int bytes = static_cast<int>(dtype_size(dtype));
  const int trits = bytes == 8 ? 40 : 5 * bytes;
  for (const auto map : {Digits::Map::kPlain, Digits::Map::kCeil256}) {
    if (map == Digits::Map::kCeil256 && bytes != 1) continue;
    for (const auto order : {Digits::Order::kLsbFirst, Digits::Order::kMsbFirst}) {
      for (const Placed& placed : kPlaces) {
        for (const bool planes : {false, true}) {
          CandidateLaw law{bare(Symbol::kBase3, 0, dtype, trits), 0};
          law.spec.digits.map = map;
          law.spec.digits.order = order;
          place(law, placed);
          if (planes) law.spec.law.stride = {Stride::Kind::kExtentOverSlots, 1, 1};
          if (planes) law.prior -= kRare;
          // 256/243 is read by repeated multiplication, which gives the highest digit first.
          const bool usual = (map == Digits::Map::kCeil256) == (order == Digits::Order::kMsbFirst);
          if (!usual) law.prior -= kUnusual;
          laws.push_back(law);
        }
      }
    }
  }
}

// One block format: `bits` a code, `elements` a block.
void add_block(std::vector<CandidateLaw>& laws, const CandidateLaw& base, int64_t elements) {
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kBF16, DType::kF8E8M0}) {
    for (const bool first : {true, false}) {
      CandidateLaw law = base;
      PackingSpec& spec = law.spec;
      spec.law.unit = UnitScope::kBlock;
      spec.law.block_elements = elements;
      const Field codes{FieldKind::kCodes, DType::kU8, 0};
      const Field scale{FieldKind::kScale, dtype, 1};
      spec.law.fields = first ? std::vector{scale, codes} : std::vector{codes, scale};
      spec.scale.index = Scale::Index::kBlock;
      spec.scale.place = Scale::Place::kBlock;
      spec.scale.group = elements;
      spec.scale.dtype = dtype;
      if (dtype != DType::kF16) law.prior -= kRare;
      laws.push_back(std::move(law));
    }
  }
}

// Blocks whose scale belongs to the whole row, at its start.
void add_line_blocks(std::vector<CandidateLaw>& laws, const CandidateLaw& base, int64_t elements) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    CandidateLaw law = base;
    law.spec.law.unit = UnitScope::kBlock;
    law.spec.law.block_elements = elements;
    law.spec.law.line_fields = {{FieldKind::kScale, dtype, 1}, {FieldKind::kCodes, DType::kU8, 0}};
    law.spec.scale.index = Scale::Index::kRow;
    law.spec.scale.place = Scale::Place::kLine;
    law.spec.scale.dtype = dtype;
    laws.push_back(std::move(law));
  }
}

// Blocks of one tensor whose scale lies behind all of them, filled up to 32 bytes.
void add_tail_blocks(std::vector<CandidateLaw>& laws, CandidateLaw base, int64_t elements) {
  base.spec.law.unit = UnitScope::kBlock;
  base.spec.law.block_elements = elements;
  base.spec.law.tensor_fields = {{FieldKind::kCodes, DType::kU8, 0},
                                 {FieldKind::kScale, DType::kF32, 1},
                                 {FieldKind::kPadding, DType::kU8, 28}};
  base.spec.scale.index = Scale::Index::kTensor;
  base.spec.scale.place = Scale::Place::kTail;
  base.spec.scale.dtype = DType::kF32;
  laws.push_back(std::move(base));
}

}  // namespace

double order_convention(const PackingSpec& spec) {
  const packing::Law& law = spec.law;
  if (law.slots < 2 || law.unit == UnitScope::kBlock) return 0;
  double nats = law.slot_order == SlotOrder::kLowFirst ? 0 : -kUnusual;
  // Four rows of a byte lie a quarter of the matrix apart as often as they are neighbours.
  if (law.stride.kind != Stride::Kind::kFixed) return law.axis == Axis::kN ? nats : nats - kUnusual;
  return law.stride.value == 1 ? nats : nats - kRare;
}

std::vector<CandidateLaw> word_laws(DType dtype) {
  std::vector<CandidateLaw> laws;
  const int word = static_cast<int>(dtype_size(dtype)) * 8;
  if (is_float(dtype)) {
    for (const Placed& placed : {kPlaces[0], kPlaces[3]}) {
      CandidateLaw law{bare(Symbol::kFloat, 8, dtype, 1), 0};
      place(law, placed);
      laws.push_back(law);
    }
    return laws;
  }
  for (const int bits : {1, 2, 3, 4, 5, 6, 7, 8}) {
    if (bits > word) continue;
    if (word / bits > 1 || bits == word) {
      for (const Placed& placed : kPlaces) {
        CandidateLaw law{bare(Symbol::kInt, bits, dtype, std::min(word / bits, 64)), 0};
        place(law, placed);
        if (bits == word && (placed.axis == Axis::kFlat ||
                             (placed.orient == Orientation::kKN) != (placed.axis == Axis::kN))) {
          continue;  // one code a word has no axis
        }
        add_strides(laws, law);
      }
    }
    if (word % bits != 0) add_bitstreams(laws, dtype, bits);
  }
  if (word == 32) {  // streams of bytes in a container of words
    for (const int bits : {3, 5, 6, 7}) {
      for (CandidateLaw law : laws) {
        if (law.spec.law.bitstream != Bitstream::kMsbFirst || law.spec.bits != bits) continue;
        if ((law.spec.orient == Orientation::kNK) != (law.spec.law.axis == Axis::kK)) continue;
        law.spec.law.word_bits = 8;
        law.prior -= kRare;
        laws.push_back(law);
        break;
      }
    }
  }
  add_base3(laws, dtype);
  return laws;
}

std::vector<CandidateLaw> block_laws(DType dtype) {
  std::vector<CandidateLaw> laws;
  if (dtype_size(dtype) != 1 || is_float(dtype)) return laws;
  for (const int64_t elements : {16, 32, 64, 128, 256, 512}) {
    for (const int bits : {1, 2, 4, 8}) {
      const int slots = 8 / bits;
      std::vector<int64_t> strides{1};
      for (const int64_t stride : {elements / slots, int64_t{16}, int64_t{32}}) {
        const bool known = std::find(strides.begin(), strides.end(), stride) != strides.end();
        if (!known && elements % (stride * slots) == 0 && slots > 1) strides.push_back(stride);
      }
      for (const int64_t stride : strides) {
        CandidateLaw base{bare(Symbol::kInt, bits, dtype, slots), 0};
        base.spec.law.stride.value = stride;
        std::vector<CandidateLaw> ordered;
        add_orders(ordered, base);
        for (const CandidateLaw& law : ordered) {
          add_block(laws, law, elements);
          add_line_blocks(laws, law, elements);
          add_tail_blocks(laws, law, elements);
        }
      }
    }
  }
  return laws;
}

std::vector<CandidateLaw> named_block_laws(DType dtype) {
  std::vector<CandidateLaw> laws;
  if (dtype_size(dtype) != 1 || is_float(dtype)) return laws;
  for (const packing::CatalogueRow& row : packing::catalogue()) {
    const PackingSpec& spec = row.spec;
    const bool more = spec.scale.index == Scale::Index::kSubBlock || !spec.law.sub_planes.empty() ||
                      spec.zero.kind != packing::Zero::Kind::kNone;
    if (spec.law.unit != UnitScope::kBlock || spec.law.axis != Axis::kK || !more) continue;
    laws.push_back({spec, 0});
    laws.back().spec.container = dtype;
  }
  return laws;
}

std::vector<CandidateLaw> plane_laws(DType dtype, const std::vector<int>& widths) {
  std::vector<CandidateLaw> laws;
  int bits = 0;
  for (const int width : widths) bits += width;
  for (const SlotOrder order : {SlotOrder::kLowFirst, SlotOrder::kHighFirst}) {
    for (const bool planes : {false, true}) {
      for (const Placed& placed : kPlaces) {
        CandidateLaw law{bare(Symbol::kInt, bits, dtype, 1), 0};
        law.spec.law.sub_planes = widths;
        law.spec.law.slot_order = order;
        if (planes) law.spec.law.stride = {Stride::Kind::kExtentOverSlots, 1, 1};
        place(law, placed);
        laws.push_back(law);
      }
    }
  }
  return laws;
}

std::vector<CandidateLaw> stacked_laws(DType dtype, int planes) {
  std::vector<CandidateLaw> laws;
  if (planes < 2 || planes > 8) return laws;
  for (const SlotOrder order : {SlotOrder::kLowFirst, SlotOrder::kHighFirst}) {
    for (const bool strided : {false, true}) {
      for (const Placed& placed : kPlaces) {
        CandidateLaw law{
            bare(Symbol::kBitPlanes, planes, dtype, static_cast<int>(dtype_size(dtype)) * 8), 0};
        law.spec.planes.assign(static_cast<size_t>(planes), packing::PlaneRole::kBit);
        law.spec.stacked_planes = true;
        law.spec.law.slot_order = order;
        if (strided) law.spec.law.stride = {Stride::Kind::kExtentOverSlots, 1, 1};
        place(law, placed);
        laws.push_back(law);
      }
    }
  }
  return laws;
}

}  // namespace trilith::inspect
