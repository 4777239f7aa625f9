#include "cli/open_model.h"

#include <fmt/format.h>

#include "base/log.h"
#include "inspect/inspection.h"

namespace trilith::cli {
namespace {

// What inspect finds, as long as it is sure; a choice that matters is the user's to make.
Result<model::FormatSheet> inspect_format(const checkpoint::Checkpoint& checkpoint,
                                          const model::ModelSpec&) {
  TRILITH_ASSIGN_OR_RETURN(const inspect::Sheet sheet, inspect::inspect_checkpoint(checkpoint, {}));
  if (sheet.verdict != inspect::Verdict::kIdentified) {
    Error error = sheet.verdict == inspect::Verdict::kAmbiguous ? Error::ambiguous(sheet.reason)
                                                                : Error::unsupported(sheet.reason);
    return std::move(error)
        .with_file(checkpoint.folder())
        .with_hint(
            "trilith inspect PATH says what was tried; --assume settles a choice, --save "
            "keeps the result");
  }
  log_info(fmt::format("format worked out from the bytes: {}; `trilith inspect --save` keeps it",
                       sheet.families.front().description));
  return model::format_sheet_from_json(to_json(sheet));
}

}  // namespace

model::OpenOptions open_options(const std::string& sheet, const model::LoadOptions& load) {
  model::OpenOptions options;
  options.sheet = sheet;
  options.inspect = inspect_format;
  options.load = load;
  return options;
}

Result<model::LoadedModel> open_model(const std::string& path, const std::string& sheet,
                                      const model::LoadOptions& load) {
  return model::open_model(path, open_options(sheet, load));
}

}  // namespace trilith::cli
