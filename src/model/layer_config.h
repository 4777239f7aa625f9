// What differs from layer to layer, read from a config.json: windows of attention and layers
// without positions. Keys and defaults are those of transformers' config classes.
#pragma once

#include <vector>

#include "model/config_fields.h"
#include "model/families.h"
#include "model/model_spec.h"

namespace trilith::model {

// Empty when all layers see everything before them and have positions.
Result<std::vector<LayerSpec>> layers_from_config(const ConfigFields& config, const Family& family,
                                                  int64_t layers);
// Adds to `json` the keys that layers_from_config reads back.
void add_layers(const ModelSpec& spec, const Family& family, Json& json);

}  // namespace trilith::model
