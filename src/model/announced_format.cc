#include "model/announced_format.h"

#include <fmt/format.h>

#include "base/check.h"
#include "packing/catalogue.h"

namespace trilith::model {
namespace {

using checkpoint::Checkpoint;

constexpr const char* kInspect = "work the format out with `trilith inspect PATH --save`";

bool is_dense(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
}

Error nothing_announced(const Checkpoint& checkpoint, std::string message) {
  return Error::ambiguous(std::move(message)).with_file(checkpoint.folder()).with_hint(kInspect);
}

// transformers' BitNetQuantConfig: linear_class says in which direction the scale works.
Result<packing::PackingSpec> bitnet_packing(const Json& config) {
  const auto text = [&](std::string_view key, std::string_view otherwise) {
    const std::string* value = config[key].as_string();
    return config[key].is_null() ? std::string(otherwise)
           : value != nullptr    ? *value
                                 : config[key].dump();
  };
  const auto refuse = [&](std::string_view key, std::string found, std::string expected) {
    return Error::unsupported(fmt::format("quantization_config asks for '{}'", key))
        .with_file("config.json")
        .with_expected(std::move(expected))
        .with_found(std::move(found));
  };
  const std::string mode = text("quantization_mode", "offline");
  if (mode != "offline") {
    return refuse("quantization_mode", mode, "offline")
        .with_hint("these are masters that are made ternary at every forward; pack them first");
  }
  if (config["use_rms_norm"].as_bool().value_or(false)) {
    return refuse("use_rms_norm", "true", "false");
  }
  const std::string linear_class = text("linear_class", "bitlinear");
  const bool multiply = linear_class == "autobitlinear";
  if (!multiply && linear_class != "bitlinear") {
    return refuse("linear_class", linear_class, "bitlinear or autobitlinear");
  }
  const auto* row = packing::find_format(multiply ? "hf-bitnet" : "hf-bitnet-inverse");
  TRILITH_CHECK(row != nullptr);
  return row->spec;
}

Result<FormatSheet> bitnet_sheet(const Checkpoint& checkpoint, const ModelSpec& spec,
                                 const Json& config) {
  TRILITH_ASSIGN_OR_RETURN(const packing::PackingSpec packing, bitnet_packing(config));
  FormatSheet sheet;
  for (const ModuleId& id : modules_of(spec)) {
    if (!is_linear(id.role)) continue;
    const std::string name = module_name(id);
    const TensorView* weight = checkpoint.find(name + ".weight");
    if (weight == nullptr) {
      return nothing_announced(checkpoint, "quant_method 'bitnet' is announced, but not its names")
          .with_tensor(name + ".weight");
    }
    if (is_dense(weight->dtype)) continue;  // modules_to_not_convert
    const TensorView* scale = checkpoint.find(name + ".weight_scale");
    if (weight->dtype != DType::kU8 || scale == nullptr || !is_dense(scale->dtype)) {
      return Error::damaged("quant_method 'bitnet' is announced, but not what is stored")
          .with_file(checkpoint.file_of(weight->name))
          .with_tensor(weight->name)
          .with_expected("U8 codes with a float weight_scale beside them")
          .with_found(fmt::format("{} with {}", dtype_name(weight->dtype),
                                  scale == nullptr
                                      ? "no weight_scale"
                                      : fmt::format("{} weight_scale", dtype_name(scale->dtype))))
          .with_hint(kInspect);
    }
    const MatrixShape shape = module_shape(spec, id.role);
    ModuleFormat module{name, id, shape.rows, shape.cols, {}, packing};
    module.spec.scale.dtype = scale->dtype;
    module.stored = {{"codes", weight->name}, {"scale", scale->name}};
    sheet.modules.push_back(std::move(module));
  }
  sheet.activation = "dynamic-token";
  return sheet;
}

}  // namespace

Result<FormatSheet> announced_format(const Checkpoint& checkpoint, const ModelSpec& spec) {
  const Json& config = checkpoint.config()["quantization_config"];
  if (!config.is_null()) {
    const std::string* method = config["quant_method"].as_string();
    if (method != nullptr && *method == "bitnet") return bitnet_sheet(checkpoint, spec, config);
    return nothing_announced(checkpoint, "the announced quantisation is not read as announced")
        .with_expected("quant_method 'bitnet', or no quantization_config")
        .with_found(config["quant_method"].dump());
  }
  for (const ModuleId& id : modules_of(spec)) {
    if (!is_linear(id.role)) continue;
    const TensorView* weight = checkpoint.find(module_name(id) + ".weight");
    if (weight == nullptr || !is_dense(weight->dtype)) {
      return nothing_announced(checkpoint, "the checkpoint does not say how its weights are stored")
          .with_tensor(module_name(id) + ".weight")
          .with_expected("F16, BF16 or F32, or a quantization_config")
          .with_found(weight == nullptr ? "no such tensor"
                                        : std::string(dtype_name(weight->dtype)));
    }
  }
  return FormatSheet{};
}

}  // namespace trilith::model
