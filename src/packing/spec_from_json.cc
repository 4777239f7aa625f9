#include <algorithm>
#include <charconv>

#include "packing/member_reader.h"

namespace trilith::packing {
namespace {

// The whole of `text` as an integer.
std::optional<int64_t> integer_in(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<int64_t> integer_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return integer_in(text.substr(prefix.size()));
}

void read_order(MemberReader& reader, SlotOrder& order, std::vector<int>& explicit_order) {
  const Json* const json = reader.take("slot_order");
  if (json == nullptr) return;
  if (json->is_array()) {
    order = SlotOrder::kExplicit;
    return reader.integers("slot_order", *json, explicit_order);
  }
  reader.word("slot_order", kSlotOrderWords, order);
}

// Needs the axis, unit and orientation, which settle how a stride is told.
void read_stride(MemberReader& reader, PackingSpec& spec) {
  Stride& stride = spec.law.stride;
  const Json* const json = reader.take("stride");
  if (json != nullptr && json->is_string()) {
    const std::string& text = *json->as_string();
    stride.kind = Stride::Kind::kExtentOverSlots;
    const bool equal_parts =
        text == "extent/slots" || text == stride_word(spec) ||
        (spec.law.axis == Axis::kFlat && (text == "ceil(rows_of_grouped_view/slots)*cols" ||
                                          integer_after(text, "N*K/") == spec.law.slots));
    if (!equal_parts) {
      stride.kind = Stride::Kind::kFixed;
      const auto star = text.find('*');
      const auto factor = star == std::string::npos ? 1 : integer_in(text.substr(0, star));
      stride.value = factor.value_or(0);
      if (stride.value < 1 || !has_worded_stride(spec) || text != stride_word(spec)) {
        reader.refuse("stride", "a number, \"extent/slots\" or an expression that fits the axis",
                      text);
      }
    }
  } else if (json != nullptr) {
    reader.set_integer("stride", *json, stride.value);
    if (has_worded_stride(spec)) {
      reader.refuse("stride", "an expression such as \"N*K/4\" or \"N\"",
                    std::to_string(stride.value));
    }
  }
  reader.integer("granule", stride.granule);
}

void read_unit(MemberReader& reader, Law& law) {
  const Json* const json = reader.take("unit");
  if (json == nullptr) return;
  const std::string* const text = json->as_string();
  if (text == nullptr) return reader.wrong_type("unit", "a string", *json);
  if (*text == "tensor") {
    law.unit = UnitScope::kTensor;
  } else if (*text == "row" || *text == "column" || *text == "line") {
    law.unit = UnitScope::kLine;
  } else if (*text == "tile") {
    law.unit = UnitScope::kTile;
  } else if (const auto elements = integer_after(*text, "block ")) {
    law.unit = UnitScope::kBlock;
    law.block_elements = *elements;
  } else {
    reader.refuse("unit", "row | column | tensor | tile | block N", *text);
  }
}

void read_fields(MemberReader& reader, std::string_view key, std::vector<Field>& fields) {
  const Json* const json = reader.take(key);
  if (json == nullptr) return;
  const Json::Array* const list = json->as_array();
  if (list == nullptr) return reader.wrong_type(key, "a list of fields", *json);
  for (const Json& entry : *list) {
    MemberReader members(entry, reader.path_to(key));
    Field field;
    members.word("kind", kFieldWords, field.kind);
    members.dtype("dtype", field.dtype);
    members.integer("count", field.count);
    reader.keep(members.finish());
    fields.push_back(field);
  }
}

void read_sections(MemberReader& reader, std::vector<Section>& sections) {
  const Json* const json = reader.take("sections");
  if (json == nullptr) return;
  const Json::Array* const list = json->as_array();
  if (list == nullptr) return reader.wrong_type("sections", "a list of [slots, stride]", *json);
  for (const Json& entry : *list) {
    std::vector<int64_t> pair;
    reader.integers("sections", entry, pair);
    if (pair.size() == 2) {
      sections.push_back({pair[0], pair[1]});
    } else if (pair.size() == 4) {
      sections.push_back({pair[0], pair[1], pair[2], pair[3]});
    } else {
      return reader.refuse("sections", "[slots, stride] or [slots, stride, first, words]",
                           entry.dump());
    }
  }
}

// "planes" lists the widths of sub-planes or the roles of bit planes.
void read_planes(MemberReader& reader, PackingSpec& spec) {
  const Json* const json = reader.take("planes");
  reader.boolean("stacked", spec.stacked_planes);
  if (json == nullptr) return;
  const Json::Array* const list = json->as_array();
  if (list == nullptr) return reader.wrong_type("planes", "a list", *json);
  const bool widths =
      std::any_of(list->begin(), list->end(), [](const Json& entry) { return entry.is_number(); });
  if (widths) return reader.integers("planes", *json, spec.law.sub_planes);
  for (const Json& entry : *list) {
    const std::string* const name = entry.as_string();
    if (name == nullptr) return reader.wrong_type("planes", "roles or widths", entry);
    const auto role = value_of(kPlaneWords, *name);
    if (!role) return reader.refuse("planes", "+ | - | sign (1 = -) | nonzero | bit", *name);
    spec.planes.push_back(*role);
  }
}

void read_tile(MemberReader& reader, TileMap& tile) {
  const Json* const json = reader.take("tile");
  if (json == nullptr) return;
  MemberReader members(*json, reader.path_to("tile"));
  members.word("kind", kTileWords, tile.kind);
  members.integer("bm", tile.bm);
  members.integer("bk", tile.bk);
  members.integer("by", tile.by);
  reader.keep(members.finish());
}

void read_digits(MemberReader& reader, Digits& digits) {
  reader.integer("pad_digit", digits.pad_digit);
  const Json* const json = reader.take("digits");
  if (json == nullptr) return;
  const std::string* const text = json->as_string();
  if (text == nullptr) return reader.wrong_type("digits", "a string", *json);
  const bool low = text->starts_with("lsb first, ");
  const std::string_view map = std::string_view(*text).substr(std::min<size_t>(11, text->size()));
  if ((!low && !text->starts_with("msb first, ")) || (map != "plain" && map != "ceil 256/243")) {
    return reader.refuse("digits", "lsb first | msb first, then plain | ceil 256/243", *text);
  }
  digits.order = low ? Digits::Order::kLsbFirst : Digits::Order::kMsbFirst;
  digits.map = map == "plain" ? Digits::Map::kPlain : Digits::Map::kCeil256;
}

void read_law(MemberReader& reader, PackingSpec& spec) {
  const Json* const json = reader.take("law");
  if (json == nullptr) return;
  Law& law = spec.law;
  MemberReader members(*json, "law");
  members.integer("word_bits", law.word_bits);
  members.integer("slots", law.slots);
  members.word("axis", kAxisWords, law.axis);
  read_unit(members, law);
  read_stride(members, spec);
  read_order(members, law.slot_order, law.explicit_order);
  members.word("byte_order", kByteOrderWords, law.byte_order);
  members.word("bitstream", kBitstreamWords, law.bitstream);
  read_fields(members, "fields", law.fields);
  read_fields(members, "line_fields", law.line_fields);
  read_fields(members, "tensor_fields", law.tensor_fields);
  read_sections(members, law.sections);
  read_planes(members, spec);
  if (const Json* const strides = members.take("plane_strides")) {
    members.integers("plane_strides", *strides, law.plane_strides);
  }
  read_tile(members, law.tile);
  read_digits(members, spec.digits);
  reader.keep(members.finish());
}

void read_table(MemberReader& reader, PackingSpec& spec) {
  const Json* const json = reader.take("code_table");
  if (json == nullptr) return;
  CodeTable& table = spec.code_table;
  if (const Json::Array* const list = json->as_array()) {
    for (const Json& entry : *list) {
      if (!entry.is_null() && !entry.is_number()) {
        return reader.wrong_type("code_table", "numbers or null", entry);
      }
      table.levels.push_back(entry.as_number());
    }
    return;
  }
  const std::string* const text = json->as_string();
  if (text == nullptr) return reader.wrong_type("code_table", "a list or a string", *json);
  if (const auto kind = value_of(kTableWords, *text)) {
    table.kind = *kind;
  } else if (*text == sign_magnitude_word(spec.bits)) {
    table.kind = CodeTable::Kind::kSignMagnitude;
  } else if (*text == table_tensor_word(spec.bits)) {
    table.kind = CodeTable::Kind::kTensor;
    reader.dtype("table_dtype", table.dtype);
  } else if (text->size() > 2 && (text->starts_with("q-") || text->starts_with("q+")) &&
             integer_in(text->substr(2)).value_or(-1) >= 0) {
    table.kind = CodeTable::Kind::kOffset;
    table.offset = *integer_in(text->substr(2)) * ((*text)[1] == '-' ? 1 : -1);
  } else {
    reader.refuse("code_table", "a list of levels or a named rule", *text);
  }
}

void read_zero(MemberReader& reader, Zero& zero) {
  const Json* const json = reader.take("zero");
  if (json == nullptr) return;
  if (const std::string* const text = json->as_string()) {
    if (*text == "none") return;
    const auto kind = value_of(kFloatZeroWords, *text);
    if (!kind) return reader.refuse("zero", "none, a float zero rule or an object", *text);
    zero.kind = *kind;
    return reader.dtype("zero_dtype", zero.dtype);
  }
  MemberReader members(*json, "zero");
  const Json* const kind = members.take("kind");
  if (kind != nullptr && *kind == Json("const")) {
    zero.kind = Zero::Kind::kConstant;
    members.integer("value", zero.value);
  } else if (kind != nullptr && *kind == Json("int")) {
    constexpr std::array kStoredWords = {Word{false, "z"}, Word{true, "z-1"}};
    zero.kind = Zero::Kind::kInteger;
    zero.dtype = DType::kU8;
    members.word("stored", kStoredWords, zero.stored_minus_one);
    members.dtype("dtype", zero.dtype);
    members.integer("bits", zero.bits);
    members.word("packed_axis", kAxisWords, zero.packed_axis);
    read_order(members, zero.slot_order, zero.explicit_order);
    members.boolean("bitstream", zero.bitstream);
    if (const Json* const planes = members.take("planes")) {
      members.integers("planes", *planes, zero.sub_planes);
    }
  } else {
    members.refuse("kind", "const | int", kind == nullptr ? "nothing" : kind->dump());
  }
  reader.keep(members.finish());
}

void read_scale(MemberReader& reader, Scale& scale) {
  const Json* const json = reader.take("scale");
  if (json == nullptr) return;
  MemberReader members(*json, "scale");
  members.word("index", kScaleIndexWords, scale.index);
  members.word("op", kScaleOpWords, scale.op);
  members.dtype("dtype", scale.dtype);
  members.integer("group", scale.group);
  const Json* const segments = members.take("segments");
  if (segments != nullptr && segments->is_array()) {
    members.integers("segments", *segments, scale.segment_lengths);
    scale.segments = static_cast<int64_t>(scale.segment_lengths.size());
  } else if (segments != nullptr) {
    members.set_integer("segments", *segments, scale.segments);
  }
  members.word("segment_axis", kAxisWords, scale.segment_axis);
  members.number("factor", scale.factor);
  members.word("layout", kScaleLayoutWords, scale.layout);
  members.word("place", kScalePlaceWords, scale.place);
  members.integer("stored_multiple", scale.stored_multiple);
  members.word("global", kGlobalScaleWords, scale.global);
  members.word("sub_layout", kSubLayoutWords, scale.sub_layout);
  members.integer("nested_group", scale.nested_group);
  members.number("nested_offset", scale.nested_offset);
  reader.keep(members.finish());
}

void read_bits(MemberReader& reader, PackingSpec& spec) {
  const Json* const json = reader.take("bits");
  if (json == nullptr) return;
  if (*json == Json("trit")) {
    spec.bits = 0;
  } else {
    reader.set_integer("bits", *json, spec.bits);
    if (spec.bits < 1) reader.refuse("bits", "a positive number or \"trit\"", json->dump());
  }
}

void read_rest(MemberReader& reader, PackingSpec& spec) {
  const auto object = [&](std::string_view key, const auto& body) {
    const Json* const json = reader.take(key);
    if (json == nullptr) return;
    MemberReader members(*json, std::string(key));
    body(members);
    reader.keep(members.finish());
  };
  object("pad", [&](MemberReader& members) {
    members.word("scope", kPadWords, spec.pad.scope);
    members.integer("code", spec.pad.code);
  });
  reader.boolean("g_idx", spec.group_index);
  object("regroup", [&](MemberReader& members) {
    members.integer("axis", spec.regroup.axis);
    members.integer("group", spec.regroup.group);
  });
  object("row_map", [&](MemberReader& members) {
    members.word("kind", kRowMapWords, spec.row_map.kind);
    members.integer("heads", spec.row_map.heads);
  });
  object("pre", [&](MemberReader& members) {
    members.word("kind", kPreWords, spec.pre.kind);
    members.integer("block", spec.pre.block);
  });
  reader.word("post", kPostWords, spec.post);
  reader.word("activation", kActivationWords, spec.activation);
}

}  // namespace

Result<PackingSpec> spec_from_json(const Json& json) {
  PackingSpec spec;
  MemberReader reader(json, "");
  reader.word("symbol", kSymbolWords, spec.symbol);
  read_bits(reader, spec);
  reader.dtype("container", spec.container);
  reader.word("orient", kOrientationWords, spec.orient);
  read_law(reader, spec);
  read_table(reader, spec);
  read_zero(reader, spec.zero);
  read_scale(reader, spec.scale);
  read_rest(reader, spec);
  TRILITH_RETURN_IF_ERROR(reader.finish());
  TRILITH_RETURN_IF_ERROR(validate(spec));
  return spec;
}

}  // namespace trilith::packing
