// Opening a model for a verb: model::open_model with inspect as its last resort.
#pragma once

#include <string>

#include "model/open_model.h"

namespace trilith::cli {

// `sheet`: the user's --sheet, or empty.
model::OpenOptions open_options(const std::string& sheet, const model::LoadOptions& load);
Result<model::LoadedModel> open_model(const std::string& path, const std::string& sheet,
                                      const model::LoadOptions& load);

}  // namespace trilith::cli
