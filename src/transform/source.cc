#include "transform/source.h"

#include <filesystem>

#include "model/gguf_format.h"
#include "model/rope_rows.h"
#include "packing/catalogue.h"

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

}  // namespace

std::vector<int64_t> rows_of_model(const Source& source, const model::PartSource& part) {
  if (!model::has_rope_rows(source.gguf_architecture, part.id.role)) return {};
  return model::rope_rows(source.spec, part.id.role, model::RowOrder::kToTransformers);
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
  if (model::is_gguf(source.checkpoint)) {
    source.gguf_architecture = model::gguf_architecture_of(source.checkpoint);
    auto sheet = model::gguf_format(source.checkpoint);
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
