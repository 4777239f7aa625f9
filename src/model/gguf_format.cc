#include "model/gguf_format.h"

#include "announce/announce.h"
#include "announce/verify.h"
#include "checkpoint/gguf_model.h"
#include "model/roles.h"

namespace trilith::model {
namespace {

// The module of a tensor of a GGUF file, in the architecture's terms.
std::optional<ModuleId> gguf_module(std::string_view name) {
  const auto known = checkpoint::transformers_name(name);
  return known ? module_from_name(*known) : std::nullopt;
}

Result<ModuleFormat> module_format(const announce::Claim& claim, const ModuleId& id) {
  TRILITH_ASSIGN_OR_RETURN(const announce::Verified verified, announce::verify(claim));
  if (verified.contradiction) return Error(*verified.contradiction);
  for (const announce::Rival& rival : claim.rivals) {
    if (!rival.also_announced) continue;
    return Error::ambiguous("the announced type has several orders: " + rival.name)
        .with_tensor(claim.stored.at("codes").name);
  }
  ModuleFormat module{claim.module, id, claim.rows, claim.cols, {}, claim.spec};
  for (const auto& [role, tensor] : claim.stored) module.stored[role] = tensor.name;
  return module;
}

}  // namespace

bool is_gguf(const checkpoint::Checkpoint& checkpoint) {
  return checkpoint.container() == checkpoint::Container::kGguf ||
         checkpoint.container() == checkpoint::Container::kGgufSharded;
}

std::string gguf_architecture_of(const checkpoint::Checkpoint& checkpoint) {
  if (!is_gguf(checkpoint)) return "";
  const std::string* const name = checkpoint.metadata()["general.architecture"].as_string();
  return name != nullptr ? *name : "";
}

Result<FormatSheet> gguf_format(const checkpoint::Checkpoint& checkpoint) {
  const announce::Recognised announced = announce::announced(checkpoint, {});
  if (!announced) return Error::unsupported("the types of the file are not read");
  if (!announced->ok()) return announced->error();
  FormatSheet sheet;
  for (const announce::Claim& claim : (*announced)->claims) {
    const auto id = gguf_module(claim.module);
    if (!id) continue;
    TRILITH_ASSIGN_OR_RETURN(ModuleFormat module, module_format(claim, *id));
    sheet.modules.push_back(std::move(module));
  }
  for (const TensorView& tensor : checkpoint.tensors()) {
    const std::string_view name = tensor.name;
    const size_t dot = name.rfind('.');
    const auto id = dot != std::string_view::npos ? gguf_module(name.substr(0, dot)) : std::nullopt;
    if (!id) continue;
    const std::string module = module_name(*id);
    if (name.ends_with(".bias")) sheet.plain[module + ".bias"] = tensor.name;
    if (name.ends_with(".weight") && sheet.find(*id) == nullptr) sheet.plain[module] = tensor.name;
  }
  return sheet;
}

}  // namespace trilith::model
