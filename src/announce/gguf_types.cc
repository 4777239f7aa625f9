#include "announce/gguf_types.h"

#include "announce/source.h"
#include "packing/catalogue.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::Field;
using packing::FieldKind;
using packing::PackingSpec;
using packing::Scale;
using packing::Zero;
using SubLayout = Scale::SubLayout;

const Field kCodes{FieldKind::kCodes, DType::kU8, 0};
const Field kHighBits{FieldKind::kHighBits, DType::kU8, 0};
const Field kHalfScale{FieldKind::kScale, DType::kF16, 1};
const Field kHalfMinimum{FieldKind::kMin, DType::kF16, 1};

Field sub_scales(int64_t bytes) { return {FieldKind::kSubScales, DType::kU8, bytes}; }
CodeTable offset(int64_t value) { return CodeTable::rule(CodeTable::Kind::kOffset, value); }
CodeTable plain() { return CodeTable::rule(CodeTable::Kind::kUnsigned); }

// A block along the inputs with its scale among the fields.
PackingSpec block(int64_t elements, int bits, int64_t stride, std::vector<Field> fields,
                  CodeTable table) {
  PackingSpec spec;
  spec.bits = bits;
  spec.law.slots = 8 / bits;
  spec.law.stride.value = stride;
  spec.law.unit = packing::UnitScope::kBlock;
  spec.law.block_elements = elements;
  spec.scale.index = Scale::Index::kBlock;
  spec.scale.place = Scale::Place::kBlock;
  spec.scale.group = elements;
  for (const Field& field : fields) {
    if (field.kind == FieldKind::kScale) spec.scale.dtype = field.dtype;
    if (field.kind != FieldKind::kMin) continue;
    spec.zero.kind = Zero::Kind::kFloatBias;
    spec.zero.dtype = field.dtype;
  }
  spec.law.fields = std::move(fields);
  spec.code_table = std::move(table);
  return spec;
}

// Codes whose high bits lie apart: the widths and strides of both parts, the low one first.
PackingSpec in_planes(PackingSpec spec, std::vector<int> widths, std::vector<int64_t> strides) {
  spec.law.slots = 1;
  spec.law.stride = {};
  spec.law.sub_planes = std::move(widths);
  spec.law.plane_strides = std::move(strides);
  return spec;
}

// K-quants: the block's scale times a small integer for every `group` elements, and minima that
// are taken away.
PackingSpec two_levels(PackingSpec spec, SubLayout layout, int64_t group) {
  spec.scale.index = Scale::Index::kSubBlock;
  spec.scale.sub_layout = layout;
  spec.scale.group = group;
  if (spec.zero.kind != Zero::Kind::kNone) spec.zero.kind = Zero::Kind::kFloatShift;
  return spec;
}

PackingSpec in_float4(PackingSpec spec) {
  spec.symbol = packing::Symbol::kFloat;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kE2M1);
  return spec;
}

PackingSpec nvfp4() {
  const Field scales{FieldKind::kScale, DType::kF8E4M3, 4};
  PackingSpec spec = in_float4(block(64, 4, 8, {scales, kCodes}, {}));
  spec.scale.group = 16;
  return spec;
}

PackingSpec iq4(PackingSpec spec) {
  spec.symbol = packing::Symbol::kTable;
  spec.code_table = CodeTable::list({-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0,
                                     13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0});
  return spec;
}

// Every 16th weight lies apart from the 15 before it, which fill three bytes.
PackingSpec iq1_bn() {
  PackingSpec spec;
  spec.symbol = packing::Symbol::kBase3;
  spec.bits = 0;
  spec.law.unit = packing::UnitScope::kBlock;
  spec.law.block_elements = 64;
  for (int64_t run = 0; run < 4; ++run) {
    for (int64_t byte = 0; byte < 3; ++byte) {
      spec.law.sections.push_back({5, 1, 16 * run + 5 * byte, 1});
    }
  }
  spec.law.sections.push_back({4, 16, 15, 1});
  spec.law.line_fields = {kHalfScale, kCodes};
  spec.digits.map = packing::Digits::Map::kCeil256;
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0});
  spec.scale.index = Scale::Index::kRow;
  spec.scale.place = Scale::Place::kLine;
  spec.scale.dtype = DType::kF16;
  return spec;
}

struct Type {
  std::string_view name;
  PackingSpec (*spec)();
};

const Type kTypes[] = {
    {"Q4_0",
     [] {
       return block(32, 4, 16, {kHalfScale, kCodes}, offset(8));
     }},
    {"Q4_1",
     [] {
       return block(32, 4, 16, {kHalfScale, kHalfMinimum, kCodes}, plain());
     }},
    {"Q5_0",
     [] {
       return in_planes(block(32, 5, 1, {kHalfScale, kHighBits, kCodes}, offset(16)), {4, 1},
                        {16, 1});
     }},
    {"Q5_1",
     [] {
       return in_planes(block(32, 5, 1, {kHalfScale, kHalfMinimum, kHighBits, kCodes}, plain()),
                        {4, 1}, {16, 1});
     }},
    {"Q8_0",
     [] {
       return block(32, 8, 1, {kHalfScale, kCodes},
                    CodeTable::rule(CodeTable::Kind::kTwosComplement));
     }},
    {"Q2_K",
     [] {
       return two_levels(
           block(256, 2, 32, {sub_scales(16), kCodes, kHalfScale, kHalfMinimum}, plain()),
           SubLayout::kQ2K, 16);
     }},
    {"Q3_K",
     [] {
       return two_levels(
           in_planes(block(256, 3, 1, {kHighBits, kCodes, sub_scales(12), kHalfScale}, offset(4)),
                     {2, 1}, {32, 32}),
           SubLayout::kQ3K, 16);
     }},
    {"Q4_K",
     [] {
       return two_levels(
           block(256, 4, 32, {kHalfScale, kHalfMinimum, sub_scales(12), kCodes}, plain()),
           SubLayout::kQ4K, 32);
     }},
    {"Q5_K",
     [] {
       return two_levels(
           in_planes(block(256, 5, 1, {kHalfScale, kHalfMinimum, sub_scales(12), kHighBits, kCodes},
                           plain()),
                     {4, 1}, {32, 32}),
           SubLayout::kQ4K, 32);
     }},
    {"Q6_K",
     [] {
       return two_levels(
           in_planes(block(256, 6, 1, {kCodes, kHighBits, sub_scales(16), kHalfScale}, offset(32)),
                     {4, 2}, {64, 32}),
           SubLayout::kQ6K, 16);
     }},
    {"IQ4_NL",
     [] {
       return iq4(block(32, 4, 16, {kHalfScale, kCodes}, {}));
     }},
    {"IQ4_XS",
     [] {
       return two_levels(iq4(block(256, 4, 16, {kHalfScale, sub_scales(6), kCodes}, {})),
                         SubLayout::kIq4Xs, 32);
     }},
    {"MXFP4",
     [] {
       const Field exponent{FieldKind::kScale, DType::kF8E8M0, 1};
       return in_float4(block(32, 4, 16, {exponent, kCodes}, {}));
     }},
    {"NVFP4", nvfp4},
    {"IQ1_BN", iq1_bn},
    {"Q1_0_G32",
     [] {
       return block(32, 1, 1, {kHalfScale, kCodes}, CodeTable::list({-1.0, 1.0}));
     }},
    {"Q2_0C",
     [] {
       return block(512, 2, 1, {kHalfScale, kCodes}, CodeTable::list({-3.0, -1.0, 1.0, 3.0}));
     }},
    {"Q2_0_G128",
     [] {
       return block(128, 2, 1, {kHalfScale, kCodes}, CodeTable::list({-1.0, 0.0, 1.0, 2.0}));
     }},
};

}  // namespace

std::optional<PackingSpec> spec_of_type(const checkpoint::GgmlType& type) {
  for (const Type& known : kTypes) {
    if (known.name == type.name) return known.spec();
  }
  // The catalogue calls the ternary types what their projects call them.
  const packing::CatalogueRow* const row = packing::find_format(lower(type.name));
  return row != nullptr ? std::optional(row->spec) : std::nullopt;
}

}  // namespace trilith::announce
