#include <fmt/format.h>

#include <cmath>

#include "packing/spec_names.h"

namespace trilith::packing {
namespace {

Json number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    return static_cast<int64_t>(value);
  }
  return value;
}

Json order_json(SlotOrder order, const std::vector<int>& explicit_order) {
  if (order == SlotOrder::kExplicit) return Json::array(explicit_order);
  return word_of(kSlotOrderWords, order);
}

Json fields_json(const std::vector<Field>& fields) {
  Json list{Json::Array{}};
  for (const Field& field : fields) {
    Json entry = Json::object({{"kind", word_of(kFieldWords, field.kind)}});
    if (field.kind != FieldKind::kCodes) {
      entry.set("dtype", dtype_name(field.dtype)).set("count", field.count);
    }
    list.push(std::move(entry));
  }
  return list;
}

std::string unit_word(const Law& law) {
  switch (law.unit) {
    case UnitScope::kTensor:
      return "tensor";
    case UnitScope::kLine:
      return law.axis == Axis::kN ? "column" : "row";
    case UnitScope::kBlock:
      return fmt::format("block {}", law.block_elements);
    case UnitScope::kTile:
      return "tile";
  }
  return {};
}

Json law_json(const PackingSpec& spec) {
  const Law& law = spec.law;
  Json json = Json::object({{"word_bits", law.word_bits}});
  if (law.bitstream != Bitstream::kNone) {
    json.set("bitstream", word_of(kBitstreamWords, law.bitstream));
  } else if (!law.sections.empty()) {
    Json sections{Json::Array{}};
    for (const Section& section : law.sections) {
      std::vector entry{section.slots, section.stride};
      if (section.first >= 0 || section.words > 0) {
        entry.push_back(section.first);
        entry.push_back(section.words);
      }
      sections.push(Json::array(entry));
    }
    json.set("sections", std::move(sections));
    if (law.slot_order != SlotOrder::kLowFirst) {
      json.set("slot_order", order_json(law.slot_order, law.explicit_order));
    }
  } else {
    if (law.sub_planes.empty()) json.set("slots", law.slots);
    json.set("stride", has_worded_stride(spec) ? Json(stride_word(spec)) : Json(law.stride.value));
    if (law.stride.granule != 1) json.set("granule", law.stride.granule);
    json.set("slot_order", order_json(law.slot_order, law.explicit_order));
  }
  json.set("axis", word_of(kAxisWords, law.axis)).set("unit", unit_word(law));
  if (law.byte_order == ByteOrder::kBig) json.set("byte_order", "big");
  if (!law.fields.empty()) json.set("fields", fields_json(law.fields));
  if (!law.line_fields.empty()) json.set("line_fields", fields_json(law.line_fields));
  if (!law.tensor_fields.empty()) json.set("tensor_fields", fields_json(law.tensor_fields));
  if (!law.sub_planes.empty()) json.set("planes", Json::array(law.sub_planes));
  if (!law.plane_strides.empty()) json.set("plane_strides", Json::array(law.plane_strides));
  if (!spec.planes.empty()) {
    Json planes{Json::Array{}};
    for (const PlaneRole role : spec.planes) planes.push(word_of(kPlaneWords, role));
    json.set("planes", std::move(planes));
  }
  if (spec.stacked_planes) json.set("stacked", true);
  if (law.tile.kind != TileMap::Kind::kNone) {
    json.set("tile", Json::object({{"kind", word_of(kTileWords, law.tile.kind)},
                                   {"bm", law.tile.bm},
                                   {"bk", law.tile.bk},
                                   {"by", law.tile.by}}));
  }
  if (spec.symbol == Symbol::kBase3) {
    const bool low = spec.digits.order == Digits::Order::kLsbFirst;
    const bool plain = spec.digits.map == Digits::Map::kPlain;
    json.set("digits",
             fmt::format("{} first, {}", low ? "lsb" : "msb", plain ? "plain" : "ceil 256/243"));
    json.set("pad_digit", spec.digits.pad_digit);
  }
  return json;
}

Json table_json(const PackingSpec& spec) {
  const CodeTable& table = spec.code_table;
  switch (table.kind) {
    case CodeTable::Kind::kList: {
      Json list{Json::Array{}};
      for (const auto& level : table.levels) list.push(level ? number(*level) : Json());
      return list;
    }
    case CodeTable::Kind::kOffset:
      return fmt::format("q{}{}", table.offset < 0 ? "+" : "-", std::abs(table.offset));
    case CodeTable::Kind::kSignMagnitude:
      return sign_magnitude_word(spec.bits);
    case CodeTable::Kind::kTensor:
      return table_tensor_word(spec.bits);
    default:
      return word_of(kTableWords, table.kind);
  }
}

Json scale_json(const Scale& scale) {
  Json json = Json::object({{"index", word_of(kScaleIndexWords, scale.index)},
                            {"op", word_of(kScaleOpWords, scale.op)},
                            {"dtype", dtype_name(scale.dtype)}});
  if (scale.group != 0) json.set("group", scale.group);
  if (!scale.segment_lengths.empty()) {
    json.set("segments", Json::array(scale.segment_lengths));
  } else if (scale.segments != 0) {
    json.set("segments", scale.segments);
  }
  if (scale.segment_axis != Axis::kN) {
    json.set("segment_axis", word_of(kAxisWords, scale.segment_axis));
  }
  json.set("factor", number(scale.factor));
  if (scale.index == Scale::Index::kRowGroup) {
    json.set("layout", word_of(kScaleLayoutWords, scale.layout));
  }
  if (scale.place != Scale::Place::kTensor) {
    json.set("place", word_of(kScalePlaceWords, scale.place));
  }
  if (scale.stored_multiple != 1) json.set("stored_multiple", scale.stored_multiple);
  if (scale.global != Scale::Global::kNone) {
    json.set("global", word_of(kGlobalScaleWords, scale.global));
  }
  if (scale.sub_layout != Scale::SubLayout::kNone) {
    json.set("sub_layout", word_of(kSubLayoutWords, scale.sub_layout));
  }
  if (scale.nested_group != 0) {
    json.set("nested_group", scale.nested_group).set("nested_offset", scale.nested_offset);
  }
  return json;
}

Json zero_json(const Zero& zero) {
  switch (zero.kind) {
    case Zero::Kind::kNone:
      return "none";
    case Zero::Kind::kConstant:
      return Json::object({{"kind", "const"}, {"value", zero.value}});
    case Zero::Kind::kInteger:
      break;
    default:
      return word_of(kFloatZeroWords, zero.kind);
  }
  Json json = Json::object({{"kind", "int"},
                            {"stored", zero.stored_minus_one ? "z-1" : "z"},
                            {"dtype", dtype_name(zero.dtype)}});
  if (zero.bits > 0) json.set("bits", zero.bits);
  if (zero.packed_axis != Axis::kN || zero.bits > 0) {
    json.set("packed_axis", word_of(kAxisWords, zero.packed_axis));
  }
  if (zero.slot_order != SlotOrder::kLowFirst || zero.bits > 0) {
    json.set("slot_order", order_json(zero.slot_order, zero.explicit_order));
  }
  if (zero.bitstream) json.set("bitstream", true);
  if (!zero.sub_planes.empty()) json.set("planes", Json::array(zero.sub_planes));
  return json;
}

}  // namespace

Json to_json(const PackingSpec& spec) {
  Json json = Json::object({{"symbol", word_of(kSymbolWords, spec.symbol)},
                            {"bits", spec.bits == 0 ? Json("trit") : Json(spec.bits)},
                            {"container", dtype_name(spec.container)},
                            {"orient", word_of(kOrientationWords, spec.orient)}});
  json.set("law", law_json(spec)).set("code_table", table_json(spec));
  if (spec.code_table.kind == CodeTable::Kind::kTensor) {
    json.set("table_dtype", dtype_name(spec.code_table.dtype));
  }
  json.set("zero", zero_json(spec.zero));
  if (value_of(kFloatZeroWords, word_of(kFloatZeroWords, spec.zero.kind))) {
    json.set("zero_dtype", dtype_name(spec.zero.dtype));
  }
  json.set("scale", scale_json(spec.scale));
  if (spec.pad != Pad{}) {
    json.set("pad", Json::object(
                        {{"scope", word_of(kPadWords, spec.pad.scope)}, {"code", spec.pad.code}}));
  }
  if (spec.group_index) json.set("g_idx", true);
  if (spec.regroup != Regroup{}) {
    json.set("regroup", Json::object({{"axis", spec.regroup.axis}, {"group", spec.regroup.group}}));
  }
  if (spec.row_map.kind != RowMap::Kind::kIdentity) {
    json.set("row_map", Json::object({{"kind", word_of(kRowMapWords, spec.row_map.kind)},
                                      {"heads", spec.row_map.heads}}));
  }
  if (spec.pre.kind != Pre::Kind::kNone) {
    json.set("pre", Json::object(
                        {{"kind", word_of(kPreWords, spec.pre.kind)}, {"block", spec.pre.block}}));
  }
  if (spec.post != Post::kNone) json.set("post", word_of(kPostWords, spec.post));
  if (spec.activation != Activation::kNone) {
    json.set("activation", word_of(kActivationWords, spec.activation));
  }
  return json;
}

}  // namespace trilith::packing
