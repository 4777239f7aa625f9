#include "cli/open_model.h"

namespace trilith::cli {

Result<model::LoadedModel> open_model(const std::string& path, const std::string& sheet) {
  model::OpenOptions options;
  options.sheet = sheet;
  return model::open_model(path, options);
}

}  // namespace trilith::cli
