// model_spec_from_config on arbitrary JSON: never crashes; an accepted config is consistent, and
// what is written from it reads back equal.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/roles.h"

using namespace trilith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = Json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!json.ok()) return 0;
  const auto spec = model::model_spec_from_config(*json, (*json)["generation_config"]);
  if (!spec.ok()) {
    TRILITH_CHECK(exit_code(spec.error().kind) == 4);
    return 0;
  }
  TRILITH_CHECK(spec->num_attention_heads % spec->num_key_value_heads == 0);
  TRILITH_CHECK(spec->head_dim % 2 == 0 && spec->head_dim == spec->rope.head_dim);
  for (const auto role : {model::Role::kQProj, model::Role::kOProj, model::Role::kDownProj}) {
    const auto shape = model::module_shape(*spec, role);
    TRILITH_CHECK(shape.rows >= 1 && shape.rows <= 1 << 20);
    TRILITH_CHECK(shape.cols >= 1 && shape.cols <= 1 << 20);
  }
  const auto again = model::model_spec_from_config(model::to_json(*spec), {});
  TRILITH_CHECK(again.ok());
  // int8_activations of a Llama comes from quantization_config, which a spec does not repeat.
  TRILITH_CHECK(again->rope == spec->rope && again->eos_token_ids == spec->eos_token_ids);
  return 0;
}
