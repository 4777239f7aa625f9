// GGUF: the type ids of a file, read as packings. Ids are not unique between forks of ggml; the
// container says which readings of an id fit the room its tensors have, and this says what they
// mean (gguf_types.h).
#include <fmt/format.h>

#include "announce/families.h"
#include "announce/gguf_types.h"

namespace trilith::announce {
namespace {

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
    const auto spec = spec_of_type(*type);
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
