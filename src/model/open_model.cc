#include "model/open_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "model/announced_format.h"
#include "model/gguf_format.h"
#include "model/load_tokenizer.h"

namespace trilith::model {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Status find_tokenizer(LoadedModel& model, const std::string& named) {
  auto found = load_tokenizer(model.checkpoint, named);
  if (!found.ok()) {
    if (!is_gguf(model.checkpoint) || !named.empty()) return std::move(found).error();
    // Ids can be given in place of text.
    log_warning("no tokenizer: " + found.error().to_string());
    model.no_tokenizer = std::move(found).error();
    return {};
  }
  if (!*found) return {};
  model.tokenizer = std::move((*found)->tokenizer);
  model.tokenizer_sha256 = std::move((*found)->sha256);
  if (model.tokenizer->vocab_size() > model.spec.vocab_size) {
    log_warning(fmt::format("{}: the tokenizer has {} ids, the model {}; the ids above are refused",
                            model.checkpoint.folder(), model.tokenizer->vocab_size(),
                            model.spec.vocab_size));
  }
  return {};
}

}  // namespace

std::string_view origin_name(SheetOrigin origin) {
  switch (origin) {
    case SheetOrigin::kNamed:
      return "the sheet named";
    case SheetOrigin::kBeside:
      return "the sheet beside the weights";
    case SheetOrigin::kAnnounced:
      return "announced by the checkpoint";
    case SheetOrigin::kInspected:
      return "inspected";
  }
  return "";
}

Result<ResolvedSheet> resolve_sheet(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                                    const OpenOptions& options) {
  if (!options.sheet.empty()) {
    TRILITH_ASSIGN_OR_RETURN(FormatSheet sheet, read_format_sheet(options.sheet));
    return ResolvedSheet{std::move(sheet), SheetOrigin::kNamed};
  }
  const std::string beside = (fs::path(checkpoint.folder()) / kSheetFile).string();
  if (exists(beside)) {
    TRILITH_ASSIGN_OR_RETURN(FormatSheet sheet, read_format_sheet(beside));
    return ResolvedSheet{std::move(sheet), SheetOrigin::kBeside};
  }
  auto announced = announced_format(checkpoint, spec);
  if (announced.ok()) return ResolvedSheet{std::move(announced).value(), SheetOrigin::kAnnounced};
  if (announced.error().kind != ErrorKind::kAmbiguous || !options.inspect) {
    return std::move(announced).error();
  }
  log_debug("inspecting: " + announced.error().to_string());
  TRILITH_ASSIGN_OR_RETURN(FormatSheet sheet, options.inspect(checkpoint, spec));
  return ResolvedSheet{std::move(sheet), SheetOrigin::kInspected};
}

Result<LoadedModel> open_model(const std::string& path, const OpenOptions& options) {
  LoadedModel model;
  TRILITH_ASSIGN_OR_RETURN(model.checkpoint, checkpoint::Checkpoint::open(path));
  auto spec =
      model_spec_from_config(model.checkpoint.config(), model.checkpoint.generation_config());
  if (!spec.ok()) {
    // The error names config.json; the user needs to know which.
    Error error = std::move(spec).error();
    error.file = (fs::path(model.checkpoint.folder()) / error.file).string();
    return error;
  }
  model.spec = std::move(spec).value();
  TRILITH_ASSIGN_OR_RETURN(ResolvedSheet resolved,
                           resolve_sheet(model.checkpoint, model.spec, options));
  model.sheet = std::move(resolved.sheet);
  model.origin = resolved.origin;
  if (model.sheet.activation == Json("dynamic-token")) model.spec.int8_activations = true;
  TRILITH_ASSIGN_OR_RETURN(model.weights,
                           load_weights(model.checkpoint, model.spec, model.sheet, options.load));
  TRILITH_RETURN_IF_ERROR(find_tokenizer(model, options.tokenizer));
  return model;
}

}  // namespace trilith::model
