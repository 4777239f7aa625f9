// model_exchange spec FOLDER          prints the ModelSpec of a folder's config.json
// model_exchange tiny OPTIONS FOLDER  writes a tiny model: its checkpoint, dense.safetensors with
//                                     the float32 values under transformers' names
// OPTIONS is JSON: {"model_type", "seed", "format" (a catalogue name), "tied", "attention_bias",
// "quantization_config", "shards"}, all optional.
#include <cstdio>
#include <string>

#include "checkpoint/safetensors.h"
#include "model/model_spec.h"
#include "packing/catalogue.h"
#include "support/tiny_model.h"

namespace {

using namespace trilith;

Status print_spec(const std::string& folder) {
  TRILITH_ASSIGN_OR_RETURN(const Json config, read_json_file(folder + "/config.json"));
  TRILITH_ASSIGN_OR_RETURN(const auto spec, model::model_spec_from_config(config, {}));
  return write_text_file("-", model::to_json(spec).dump() + "\n");
}

Status write_tiny(const std::string& text, const std::string& folder) {
  TRILITH_ASSIGN_OR_RETURN(const Json json, Json::parse(text));
  support::TinyModelOptions options;
  if (const auto* type = json["model_type"].as_string()) options.model_type = *type;
  options.seed = static_cast<uint64_t>(json["seed"].as_integer().value_or(1));
  options.tied = json["tied"].as_bool().value_or(false);
  options.attention_bias = json["attention_bias"].as_bool().value_or(false);
  options.quantization_config = json["quantization_config"];
  if (const auto* format = json["format"].as_string()) {
    const auto* row = packing::find_format(*format);
    if (row == nullptr) return Error::usage("no such format").with_found(*format);
    options.packing = row->spec;
  }
  const support::TinyModel tiny = support::make_tiny_model(options);
  tiny.write(folder, static_cast<int>(json["shards"].as_integer().value_or(1)));
  std::vector<checkpoint::TensorToWrite> dense;
  for (const auto& [name, values] : tiny.dense) {
    const bool bias = name.ends_with(".bias");
    dense.push_back({bias ? name : name + ".weight",
                     DType::kF32,
                     {static_cast<int64_t>(values.size())},
                     std::as_bytes(std::span(values))});
  }
  return checkpoint::write_safetensors(folder + "/dense.safetensors", dense, {});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (!(verb == "spec" && argc == 3) && !(verb == "tiny" && argc == 4)) {
    std::fputs("usage: model_exchange spec FOLDER | tiny OPTIONS FOLDER\n", stderr);
    return 2;
  }
  const Status status = verb == "spec" ? print_spec(argv[2]) : write_tiny(argv[2], argv[3]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return exit_code(status.error().kind);
}
