#include "announce/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace trilith::announce {
namespace {

// Files beside config.json in which libraries keep what newer ones put into it, with the method
// that they imply when they name none.
struct SideFile {
  std::string_view name;
  std::string_view method;
};
constexpr std::array kSideFiles = {
    SideFile{"quantize_config.json", "gptq"}, SideFile{"quantization_config.json", ""},
    SideFile{"quant_config.json", "awq"},     SideFile{"hf_quant_config.json", "modelopt"},
    SideFile{"quanto_qmap.json", "quanto"},
};

Settings find_settings(const checkpoint::Checkpoint& checkpoint) {
  Settings settings;
  const Json& config = checkpoint.config();
  for (const std::string_view key : {"quantization_config", "quantization"}) {
    if (!config[key].is_object()) continue;
    settings.values = config[key];
    settings.where = fmt::format("config.json: {}", key);
    settings.method = lower(text(settings.values, "quant_method"));
    return settings;
  }
  for (const std::string_view key : {"text_config", "language_config"}) {
    if (!config[key]["quantization_config"].is_object()) continue;
    settings.values = config[key]["quantization_config"];
    settings.where = fmt::format("config.json: {}.quantization_config", key);
    settings.method = lower(text(settings.values, "quant_method"));
    return settings;
  }
  for (const SideFile& file : kSideFiles) {
    auto json = checkpoint.side_json(std::string(file.name));
    if (!json.ok() || !json->is_object()) continue;
    settings.values = std::move(json).value();
    settings.where = std::string(file.name);
    settings.method = lower(text(settings.values, "quant_method", file.method));
    return settings;
  }
  return settings;
}

}  // namespace

Source::Source(const checkpoint::Checkpoint& checkpoint, ShapeOf shape_of)
    : checkpoint_(checkpoint),
      shape_of_(std::move(shape_of)),
      settings_(find_settings(checkpoint)) {}

std::optional<MatrixShape> Source::shape_of(std::string_view module) const {
  return shape_of_ ? shape_of_(module) : std::nullopt;
}

std::vector<std::string> Source::modules_with(std::string_view suffix) const {
  std::vector<std::string> modules;
  for (const TensorView& tensor : tensors()) {
    if (tensor.name.size() > suffix.size() && tensor.name.ends_with(suffix)) {
      modules.push_back(tensor.name.substr(0, tensor.name.size() - suffix.size()));
    }
  }
  return modules;
}

ClaimBuilder::ClaimBuilder(const Source& source, std::string module) : source_(source) {
  claim_.module = std::move(module);
}

const TensorView* ClaimBuilder::find(std::string_view suffix) const {
  return source_.find(claim_.module + std::string(suffix));
}

Result<const TensorView*> ClaimBuilder::store(std::string_view role, std::string_view suffix) {
  const TensorView* const tensor = find(suffix);
  if (tensor == nullptr) {
    return Error::damaged("the announced format lacks one of its tensors")
        .with_tensor(claim_.module + std::string(suffix))
        .with_found("no such tensor");
  }
  claim_.stored[std::string(role)] = *tensor;
  return tensor;
}

void ClaimBuilder::note_beside(std::initializer_list<std::string_view> suffixes) {
  for (const std::string_view suffix : suffixes) {
    if (const TensorView* tensor = find(suffix)) claim_.beside.push_back(tensor->name);
  }
}

void ClaimBuilder::state(std::string_view field, Json value, std::string where) {
  claim_.statements.push_back({std::string(field), std::move(value), std::move(where)});
}

Claim ClaimBuilder::finish() && {
  const TensorView* const bias = find(".bias");
  if (bias != nullptr && is_float(bias->dtype) && bias->shape == Shape{claim_.rows}) {
    claim_.bias = bias->name;
  }
  return std::move(claim_);
}

Error contradiction(const std::string& tensor, std::string message, std::string expected,
                    std::string found) {
  return Error::damaged(std::move(message))
      .with_tensor(tensor)
      .with_expected(std::move(expected))
      .with_found(std::move(found));
}

bool is_scale_type(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::optional<int64_t> integer(const Json& json, std::string_view key) {
  return json[key].as_integer();
}

std::string text(const Json& json, std::string_view key, std::string_view otherwise) {
  const std::string* value = json[key].as_string();
  return value != nullptr ? *value : std::string(otherwise);
}

std::vector<int64_t> small_integers(const TensorView& tensor, size_t limit) {
  std::vector<int64_t> values;
  if (!is_integer(tensor.dtype) || tensor.count() < 1 || tensor.count() > limit) return values;
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    values.push_back(static_cast<int64_t>(std::llround(element_as_double(tensor, i))));
  }
  return values;
}

}  // namespace trilith::announce
