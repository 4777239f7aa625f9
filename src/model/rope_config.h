// RopeSpec from a config.json. The keys are those of transformers' modeling_rope_utils:
// rope_scaling (the older one) overrides rope_parameters when it says anything; rope_theta lies in
// either or at top level. What is not known there is refused by name.
#pragma once

#include "model/config_fields.h"
#include "model/model_spec.h"

namespace trilith::model {

// What the config class takes where config.json is silent.
struct RopeDefaults {
  double theta;
  int64_t head_dim;
  int64_t max_positions;
};

Result<RopeSpec> rope_from_config(const ConfigFields& config, const RopeDefaults& defaults);
// As the rope_parameters that rope_from_config reads back.
Json rope_to_json(const RopeSpec& spec);

}  // namespace trilith::model
