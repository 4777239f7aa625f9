// Mode: the numbers a quantised linear multiplies with. Dense linears take float activations in
// every mode. Default: a8 for models trained with int8 activations (BitNet), else a16.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/model_spec.h"

namespace trilith::engine {

enum class Mode {
  kA8,   // int8 per token, absmax / 127
  kA16,  // 16-bit integers per token, absmax / 32767; an exact integer dot as well
  kF32,  // floats
};

std::string_view mode_name(Mode mode);  // "a8", "a16", "f32"
Result<Mode> mode_from_name(std::string_view name);
Mode default_mode(const model::ModelSpec& spec);

}  // namespace trilith::engine
