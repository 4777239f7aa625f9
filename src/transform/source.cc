#include "transform/source.h"

#include <filesystem>

#include "announce/announce.h"
#include "announce/verify.h"
#include "checkpoint/gguf_model.h"
#include "packing/catalogue.h"
#include "transform/rope_rows.h"

namespace trilith::transform {
namespace {

// Whether a tensor's name lies under that of a packed module.
bool is_of_packing(const std::string& tensor, const model::FormatSheet& sheet) {
  if (tensor.ends_with(".bias")) return false;
  for (const model::ModuleFormat& module : sheet.modules) {
    if (tensor.starts_with(module.name + ".")) return true;
    for (const auto& [role, name] : module.stored) {
      if (tensor.starts_with(name + ".")) return true;  // "…weight.quant_state"
    }
  }
  return false;
}

// The module of a tensor of a GGUF file, in the architecture's terms.
std::optional<model::ModuleId> gguf_module(std::string_view name) {
  const auto known = checkpoint::transformers_name(name);
  return known ? model::module_from_name(*known) : std::nullopt;
}

Result<model::ModuleFormat> gguf_format(const announce::Claim& claim, const model::ModuleId& id) {
  TRILITH_ASSIGN_OR_RETURN(const announce::Verified verified, announce::verify(claim));
  if (verified.contradiction) return Error(*verified.contradiction);
  for (const announce::Rival& rival : claim.rivals) {
    if (!rival.also_announced) continue;
    return Error::ambiguous("the announced type has several orders: " + rival.name)
        .with_tensor(claim.stored.at("codes").name);
  }
  model::ModuleFormat module{claim.module, id, claim.rows, claim.cols, {}, claim.spec};
  for (const auto& [role, tensor] : claim.stored) module.stored[role] = tensor.name;
  return module;
}

Result<model::FormatSheet> gguf_sheet(const checkpoint::Checkpoint& checkpoint) {
  const announce::Recognised announced = announce::announced(checkpoint, {});
  if (!announced) return Error::unsupported("the types of the file are not read");
  if (!announced->ok()) return announced->error();
  model::FormatSheet sheet;
  for (const announce::Claim& claim : (*announced)->claims) {
    const auto id = gguf_module(claim.module);
    if (!id) continue;
    TRILITH_ASSIGN_OR_RETURN(model::ModuleFormat module, gguf_format(claim, *id));
    sheet.modules.push_back(std::move(module));
  }
  for (const TensorView& tensor : checkpoint.tensors()) {
    const std::string_view name = tensor.name;
    const size_t dot = name.rfind('.');
    const auto id = dot != std::string_view::npos ? gguf_module(name.substr(0, dot)) : std::nullopt;
    if (!id) continue;
    const std::string module = model::module_name(*id);
    if (name.ends_with(".bias")) sheet.plain[module + ".bias"] = tensor.name;
    if (name.ends_with(".weight") && sheet.find(*id) == nullptr) sheet.plain[module] = tensor.name;
  }
  return sheet;
}

bool is_gguf(const checkpoint::Checkpoint& checkpoint) {
  return checkpoint.container() == checkpoint::Container::kGguf ||
         checkpoint.container() == checkpoint::Container::kGgufSharded;
}

}  // namespace

std::vector<int64_t> rows_of_model(const Source& source, const model::PartSource& part) {
  if (!has_rope_rows(source.gguf_architecture, part.id.role)) return {};
  return rope_rows(source.spec, part.id.role, RowOrder::kToTransformers);
}

std::string Source::format() const {
  if (sheet.modules.empty()) return "dense";
  const auto& first = sheet.modules.front().spec;
  if (const packing::CatalogueRow* row = packing::name_of(first)) return std::string(row->name);
  return packing::describe(first);
}

Result<Source> open_source(const std::string& path, const model::OpenOptions& options) {
  Source source;
  TRILITH_ASSIGN_OR_RETURN(source.checkpoint, checkpoint::Checkpoint::open(path));
  auto spec = model::model_spec_from_config(source.checkpoint.config(),
                                            source.checkpoint.generation_config());
  if (!spec.ok()) {
    Error error = std::move(spec).error();
    error.file = (std::filesystem::path(source.checkpoint.folder()) / error.file).string();
    return error;
  }
  source.spec = std::move(spec).value();
  if (is_gguf(source.checkpoint)) {
    const std::string* name = source.checkpoint.metadata()["general.architecture"].as_string();
    source.gguf_architecture = name != nullptr ? *name : "";
    auto sheet = gguf_sheet(source.checkpoint);
    if (!sheet.ok()) return std::move(sheet).error().with_file(path);
    source.sheet = std::move(sheet).value();
  } else {
    TRILITH_ASSIGN_OR_RETURN(model::ResolvedSheet resolved,
                             model::resolve_sheet(source.checkpoint, source.spec, options));
    source.sheet = std::move(resolved.sheet);
    source.origin = resolved.origin;
  }
  if (source.sheet.activation == Json("dynamic-token")) source.spec.int8_activations = true;
  TRILITH_ASSIGN_OR_RETURN(model::PartPlan plan,
                           model::plan_parts(source.checkpoint, source.spec, source.sheet));
  source.parts = std::move(plan.sources);
  for (std::string& name : plan.left_over) {
    auto& list = is_of_packing(name, source.sheet) ? source.of_packing : source.others;
    list.push_back(std::move(name));
  }
  return source;
}

}  // namespace trilith::transform
