#include "model/announced_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "announce/announce.h"
#include "announce/verify.h"
#include "model/gguf_format.h"

namespace trilith::model {
namespace {

using announce::Announcement;
using announce::Claim;
using checkpoint::Checkpoint;

constexpr const char* kInspect = "work the format out with `trilith inspect PATH --save`";

bool is_dense(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
}

Error nothing_announced(const Checkpoint& checkpoint, std::string message) {
  return Error::ambiguous(std::move(message)).with_file(checkpoint.folder()).with_hint(kInspect);
}

// What is announced about a linear is followed only when the bytes agree.
Result<ModuleFormat> format_of(const Checkpoint& checkpoint, const Claim& claim,
                               const ModuleId& id) {
  auto verified = announce::verify(claim);
  if (!verified.ok()) return std::move(verified).error();
  if (verified->contradiction) {
    return std::move(*verified->contradiction)
        .with_file(checkpoint.file_of(claim.stored.at("codes").name))
        .with_hint(kInspect);
  }
  for (const announce::Rival& rival : claim.rivals) {
    if (!rival.also_announced) continue;
    return nothing_announced(checkpoint, "the announced type has several orders: " + rival.name)
        .with_tensor(claim.stored.at("codes").name);
  }
  ModuleFormat module{claim.module, id, claim.rows, claim.cols, {}, claim.spec};
  for (const auto& [role, tensor] : claim.stored) module.stored[role] = tensor.name;
  return module;
}

Result<FormatSheet> sheet_of(const Checkpoint& checkpoint, const ModelSpec& spec,
                             const Announcement& announcement) {
  FormatSheet sheet;
  for (const ModuleId& id : modules_of(spec)) {
    if (!is_linear(id.role)) continue;
    const std::string name = module_name(id);
    const auto claim =
        std::find_if(announcement.claims.begin(), announcement.claims.end(),
                     [&](const Claim& candidate) { return candidate.module == name; });
    if (claim != announcement.claims.end()) {
      TRILITH_ASSIGN_OR_RETURN(ModuleFormat module, format_of(checkpoint, *claim, id));
      if (module.spec.activation == packing::Activation::kInt8Token) {
        sheet.activation = "dynamic-token";
      }
      sheet.modules.push_back(std::move(module));
      continue;
    }
    const TensorView* const weight = checkpoint.find(name + ".weight");
    if (weight == nullptr || !is_dense(weight->dtype)) {
      return nothing_announced(
                 checkpoint, fmt::format("{} is announced, but not its names", announcement.format))
          .with_tensor(name + ".weight");
    }
  }
  return sheet;
}

}  // namespace

Result<FormatSheet> announced_format(const Checkpoint& checkpoint, const ModelSpec& spec) {
  const announce::ShapeOf shape_of =
      [&](std::string_view module) -> std::optional<announce::MatrixShape> {
    const auto id = module_from_name(module);
    if (!id || is_norm(id->role)) return std::nullopt;
    const MatrixShape shape = module_shape(spec, id->role);
    return announce::MatrixShape{shape.rows, shape.cols};
  };
  if (is_gguf(checkpoint)) {
    auto sheet = gguf_format(checkpoint);
    if (sheet.ok()) return sheet;
    const std::string& file = checkpoint.file_of(sheet.error().tensor);
    return std::move(sheet).error().with_file(file);
  }
  const announce::Recognised announced = announce::announced(checkpoint, shape_of);
  if (announced && announced->ok()) return sheet_of(checkpoint, spec, **announced);
  if (announced) {
    Error error = announced->error();
    if (!error.tensor.empty()) error.file = checkpoint.file_of(error.tensor);
    return std::move(error).with_hint(kInspect);
  }
  const Json& config = checkpoint.config()["quantization_config"];
  if (!config.is_null()) {
    return nothing_announced(checkpoint, "the announced quantisation is not read as announced")
        .with_expected("a method that is known, or no quantization_config")
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
