// GGUF: the type ids of a file, read as packings. Ids are not unique between forks of ggml; the
// container says which readings of an id fit the room its tensors have, and this says what they
// mean. Sources of the layouts: ggml-quants.c and ggml-common.h of ggml-org/ggml, ikawrakow's and
// PrismML's forks, microsoft/BitNet.
#include <fmt/format.h>

#include <array>

#include "announce/families.h"
#include "packing/catalogue.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::Field;
using packing::FieldKind;
using packing::PackingSpec;
using packing::Scale;
using packing::Zero;

// A block along the inputs: fields before the codes, the first of them the scale.
PackingSpec block(int64_t elements, int bits, int64_t stride, std::vector<Field> before,
                  CodeTable table) {
  PackingSpec spec;
  spec.bits = bits;
  spec.law.slots = 8 / bits;
  spec.law.stride.value = stride;
  spec.law.unit = packing::UnitScope::kBlock;
  spec.law.block_elements = elements;
  spec.scale.index = Scale::Index::kBlock;
  spec.scale.place = Scale::Place::kBlock;
  spec.scale.dtype = before.front().dtype;
  spec.scale.group = elements;
  spec.law.fields = std::move(before);
  spec.law.fields.push_back({FieldKind::kCodes, DType::kU8, 0});
  spec.code_table = std::move(table);
  return spec;
}

const Field kHalfScale{FieldKind::kScale, DType::kF16, 1};

// Q4_1: a minimum that is added.
PackingSpec with_minimum(int64_t elements, int bits, int64_t stride) {
  const Field minimum{FieldKind::kMin, DType::kF16, 1};
  PackingSpec spec = block(elements, bits, stride, {kHalfScale, minimum},
                           CodeTable::rule(CodeTable::Kind::kUnsigned));
  spec.zero.kind = Zero::Kind::kFloatBias;
  spec.zero.dtype = DType::kF16;
  return spec;
}

PackingSpec mxfp4() {
  const Field exponent{FieldKind::kScale, DType::kF8E8M0, 1};
  PackingSpec spec = block(32, 4, 16, {exponent}, CodeTable::rule(CodeTable::Kind::kE2M1));
  spec.symbol = packing::Symbol::kFloat;
  return spec;
}

PackingSpec iq4_nl() {
  PackingSpec spec =
      block(32, 4, 16, {kHalfScale},
            CodeTable::list({-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0,
                             25.0, 38.0, 53.0, 69.0, 89.0, 113.0}));
  spec.symbol = packing::Symbol::kTable;
  return spec;
}

std::optional<PackingSpec> catalogue_spec(std::string_view name) {
  const packing::CatalogueRow* const row = packing::find_format(name);
  return row != nullptr ? std::optional(row->spec) : std::nullopt;
}

// The spec of a type, by its name and block; nothing when it cannot be expressed.
std::optional<PackingSpec> spec_of(const checkpoint::GgmlType& type) {
  const auto offset = [](int64_t value) {
    return CodeTable::rule(CodeTable::Kind::kOffset, value);
  };
  if (type.name == "Q4_0") return block(32, 4, 16, {kHalfScale}, offset(8));
  if (type.name == "Q4_1") return with_minimum(32, 4, 16);
  if (type.name == "Q8_0") {
    return block(32, 8, 1, {kHalfScale}, CodeTable::rule(CodeTable::Kind::kTwosComplement));
  }
  if (type.name == "IQ4_NL") return iq4_nl();
  if (type.name == "MXFP4") return mxfp4();
  if (type.name == "Q2_0_G128") return catalogue_spec("pq2_0");
  if (type.name == "Q2_0C") {
    return block(512, 2, 1, {kHalfScale}, CodeTable::list({-3.0, -1.0, 1.0, 3.0}));
  }
  // The catalogue calls a type what its project calls it.
  return catalogue_spec(lower(type.name));
}

// bitnet.cpp built for ARM, and built without ACT_PARALLEL, writes I2_S in other orders.
void add_orders(Claim& claim) {
  Rival arm{"blocks of 64 (bitnet.cpp on ARM)", claim.spec, claim.promises, true};
  arm.spec.law.block_elements = 64;
  arm.spec.law.stride.value = 16;
  claim.rivals.push_back(std::move(arm));
  if (claim.rows % 4 != 0) return;
  Rival four{"four rows share a byte (bitnet.cpp without ACT_PARALLEL)", claim.spec, claim.promises,
             true};
  four.spec.law.axis = packing::Axis::kFlat;
  four.spec.law.block_elements = 4 * claim.cols;
  four.spec.law.stride.value = claim.cols;
  claim.rivals.push_back(std::move(four));
}

std::string type_text(const checkpoint::GgmlType& type, uint32_t id) {
  return fmt::format("type id {}: {} of {}, whose size fits", id, type.name, type.family);
}

Result<Claim> gguf_claim(const TensorView& tensor, const checkpoint::GgmlClaim& said) {
  Claim claim;
  claim.module = tensor.name.ends_with(".weight") ? tensor.name.substr(0, tensor.name.size() - 7)
                                                  : tensor.name;
  const checkpoint::GgmlType* chosen = nullptr;
  std::vector<std::string> names;
  for (const checkpoint::GgmlType* const type : said.types) {
    names.push_back(fmt::format("{} of {}", type->name, type->family));
    const auto spec = spec_of(*type);
    if (!spec) continue;
    if (chosen == nullptr) {
      chosen = type;
      claim.spec = *spec;
    } else if (*spec != claim.spec) {
      claim.rivals.push_back({names.back(), *spec, {}, true});
    }
  }
  if (said.types.empty()) {
    return Error::unsupported(fmt::format("no known type {} fits the tensor", said.id))
        .with_tensor(tensor.name)
        .with_found(said.problem);
  }
  if (chosen == nullptr) {
    return Error::unsupported(
               fmt::format("type {} is recognised and not read", fmt::join(names, " or ")))
        .with_tensor(tensor.name);
  }
  if (said.shape.empty()) {
    return contradiction(tensor.name, "a packed tensor has no dimensions", "[N, K]", "[]");
  }
  claim.cols = said.shape.back();
  claim.rows = 1;
  for (size_t i = 0; i + 1 < said.shape.size(); ++i) claim.rows *= said.shape[i];
  claim.stored["codes"] = tensor;
  claim.promises.scale_sign = Promises::Sign::kAny;  // the larger edge of a block anchors it
  if (chosen->name == "I2_S") add_orders(claim);
  claim.statements.push_back({"law", Json(chosen->name), type_text(*chosen, said.id)});
  return claim;
}

}  // namespace

Recognised gguf_claims(const Source& source) {
  const auto container = source.checkpoint().container();
  if (container != checkpoint::Container::kGguf &&
      container != checkpoint::Container::kGgufSharded) {
    return std::nullopt;
  }
  Announcement announcement{"gguf", "tensor types", {}};
  for (const TensorView& tensor : source.tensors()) {
    const checkpoint::GgmlClaim* const said = source.checkpoint().ggml_claim(tensor.name);
    if (said == nullptr || (said->type() != nullptr && said->type()->plain)) continue;
    auto claim = gguf_claim(tensor, *said);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
