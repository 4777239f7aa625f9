#include "engine/mode.h"

namespace trilith::engine {

std::string_view mode_name(Mode mode) {
  switch (mode) {
    case Mode::kA8:
      return "a8";
    case Mode::kA16:
      return "a16";
    case Mode::kF32:
      return "f32";
  }
  TRILITH_CHECK(false);
}

Result<Mode> mode_from_name(std::string_view name) {
  for (const Mode mode : {Mode::kA8, Mode::kA16, Mode::kF32}) {
    if (name == mode_name(mode)) return mode;
  }
  return Error::usage("unknown mode").with_expected("a8, a16 or f32").with_found(std::string(name));
}

Mode default_mode(const model::ModelSpec& spec) {
  return spec.int8_activations ? Mode::kA8 : Mode::kA16;
}

}  // namespace trilith::engine
