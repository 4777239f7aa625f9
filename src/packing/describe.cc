// One line about a spec, for people.
#include <fmt/format.h>

#include <cmath>

#include "packing/spec.h"

namespace trilith::packing {
namespace {

std::string symbol_text(const PackingSpec& spec) {
  switch (spec.symbol) {
    case Symbol::kInt:
      return fmt::format("{}-bit", spec.bits);
    case Symbol::kTable:
      return fmt::format("{}-bit table index", spec.bits);
    case Symbol::kBase3:
      return fmt::format("base-3 {} digit first{}",
                         spec.digits.order == Digits::Order::kLsbFirst ? "low" : "high",
                         spec.digits.map == Digits::Map::kCeil256 ? " as fractions of 256" : "");
    case Symbol::kPair:
      return "pairs of trits in nibbles";
    case Symbol::kTriple:
      return "triples of trits as magnitude and sign";
    case Symbol::kBitPlanes:
      return fmt::format("{} {}bit planes", spec.planes.size(),
                         spec.stacked_planes ? "stacked " : "");
    case Symbol::kFloat:
      return fmt::format("{}-bit float", spec.bits);
    case Symbol::kFloatContainer:
      return fmt::format("{} holding few values", dtype_name(spec.container));
  }
  return {};
}

std::string axis_text(const PackingSpec& spec) {
  const char* const axis = spec.law.axis == Axis::kK   ? "K"
                           : spec.law.axis == Axis::kN ? "N"
                                                       : "the flattened matrix";
  return fmt::format("{}{}", axis, spec.orient == Orientation::kKN ? " of Wᵀ" : "");
}

std::string law_text(const PackingSpec& spec) {
  const Law& law = spec.law;
  if (spec.symbol == Symbol::kFloatContainer) return {};
  const std::string word = law.word_bits == 8 ? "byte" : fmt::format("{}-bit word", law.word_bits);
  std::string text;
  if (law.tile.kind != TileMap::Kind::kNone) {
    text = ", in tiles";
  } else if (law.bitstream != Bitstream::kNone) {
    text = fmt::format(", dense stream along {}, {} first", axis_text(spec),
                       law.bitstream == Bitstream::kLsbFirst ? "low" : "high");
  } else if (!law.sections.empty()) {
    std::vector<std::string> sections;
    for (const Section& section : law.sections) {
      sections.push_back(fmt::format("{} × stride {}", section.slots, section.stride));
    }
    text = fmt::format(", sections {} along {}", fmt::join(sections, " + "), axis_text(spec));
  } else {
    text = !law.sub_planes.empty()
               ? fmt::format(", planes of {} bits along {}", fmt::join(law.sub_planes, "+"),
                             axis_text(spec))
               : fmt::format(", {} a {} along {}", law.slots, word, axis_text(spec));
    if (law.stride.kind == Stride::Kind::kExtentOverSlots) {
      text += fmt::format(" in {} equal parts", law.slots);
    } else if (law.stride.value != 1) {
      text += fmt::format(" at stride {}", law.stride.value);
    }
    if (spec.symbol != Symbol::kBase3 && law.slots > 1) {
      text += law.slot_order == SlotOrder::kLowFirst    ? ", low first"
              : law.slot_order == SlotOrder::kHighFirst ? ", high first"
                                                        : ", own slot order";
    }
  }
  if (law.unit == UnitScope::kBlock) text += fmt::format(", blocks of {}", law.block_elements);
  return text;
}

std::string level_text(const std::optional<double>& level) {
  if (!level) return "∅";
  if (*level == 0) return "0";
  const char* const sign = *level < 0 ? "−" : "+";
  return fmt::format("{}{}", sign, std::fabs(*level));
}

std::string table_text(const PackingSpec& spec) {
  const CodeTable& table = spec.code_table;
  switch (table.kind) {
    case CodeTable::Kind::kList: {
      if (table.levels.size() > 8) return fmt::format("{} listed levels", table.levels.size());
      std::vector<std::string> levels;
      for (const auto& level : table.levels) levels.push_back(level_text(level));
      return fmt::format("{{{}}}", fmt::join(levels, ","));
    }
    case CodeTable::Kind::kUnsigned:
      return "unsigned";
    case CodeTable::Kind::kTwosComplement:
      return "two's complement";
    case CodeTable::Kind::kOffset:
      return fmt::format("q−{}", table.offset);
    case CodeTable::Kind::kSignMagnitude:
      return "sign and magnitude";
    case CodeTable::Kind::kE2M1:
      return "e2m1";
    case CodeTable::Kind::kE4M3:
      return "e4m3";
    case CodeTable::Kind::kE5M2:
      return "e5m2";
    case CodeTable::Kind::kTensor:
      return "levels in the file";
    case CodeTable::Kind::kNative:
      return "native numbers";
    case CodeTable::Kind::kPlanes:
      return spec.planes.empty() || spec.planes.front() == PlaneRole::kPositive ||
                     spec.planes.front() == PlaneRole::kNegative
                 ? "plus and minus"
                 : "sign and nonzero";
  }
  return {};
}

std::string scale_text(const PackingSpec& spec) {
  const Scale& scale = spec.scale;
  std::string what;
  switch (scale.index) {
    case Scale::Index::kNone:
      return "no scale";
    case Scale::Index::kTensor:
      what = "tensor scale";
      break;
    case Scale::Index::kRow:
      what = "row scale";
      break;
    case Scale::Index::kColumn:
      what = "column scale";
      break;
    case Scale::Index::kRowGroup:
      what = scale.group > 0 ? fmt::format("row × {} scale", scale.group) : "row scale";
      break;
    case Scale::Index::kBlock:
      what = scale.group < spec.law.block_elements ? fmt::format("block × {} scale", scale.group)
                                                   : "block scale";
      break;
    case Scale::Index::kFlatBlock:
      what = fmt::format("scale of {} flattened", scale.group);
      break;
    case Scale::Index::kModulo:
      what = fmt::format("interleaved scale of {}", scale.group);
      break;
    case Scale::Index::kSegment:
      what = fmt::format("{}{} segment scales along {}", scale.segments,
                         scale.segment_lengths.empty() ? "" : " unequal",
                         scale.segment_axis == Axis::kN ? "N" : "K");
      break;
    case Scale::Index::kRankOne:
      what = "row × column scale";
      break;
    case Scale::Index::kSubBlock:
      what = fmt::format("two-level scale of {} elements", scale.group);
      break;
  }
  if (scale.place == Scale::Place::kImplicit) return "implicit " + what;
  const char* const op = scale.op == Scale::Op::kMultiply ? "multiply"
                         : scale.op == Scale::Op::kDivide ? "divide"
                                                          : "multiply by 2^x";
  what += fmt::format(" {} {}", dtype_name(scale.dtype), op);
  if (scale.factor != 1.0) what += fmt::format(" × {:.6g}", scale.factor);
  if (scale.place != Scale::Place::kTensor) what += " inside";
  if (scale.global == Scale::Global::kMultiply) what += " × global scale";
  if (scale.global == Scale::Global::kDivide) what += " ÷ global scale";
  if (scale.nested_group > 0) what += ", itself coded";
  return what;
}

std::string zero_text(const Zero& zero) {
  switch (zero.kind) {
    case Zero::Kind::kNone:
      return {};
    case Zero::Kind::kConstant:
      return fmt::format(", zero point {}", zero.value);
    case Zero::Kind::kInteger:
      return zero.stored_minus_one ? ", integer zero points stored less one"
                                   : ", integer zero points";
    case Zero::Kind::kFloat:
      return ", float zero points";
    case Zero::Kind::kFloatBias:
      return ", float bias";
    case Zero::Kind::kFloatShift:
      return ", float shift";
  }
  return {};
}

}  // namespace

std::string describe(const PackingSpec& spec) {
  return fmt::format("{}{}, {}, {}{}{}", symbol_text(spec), law_text(spec), table_text(spec),
                     scale_text(spec), zero_text(spec.zero),
                     spec.group_index ? ", column group index" : "");
}

}  // namespace trilith::packing
