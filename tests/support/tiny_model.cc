#include "support/tiny_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "base/output_file.h"
#include "checkpoint/safetensors.h"
#include "packing/codec.h"
#include "support/random_matrix.h"

namespace trilith::support {
namespace {

using model::ModuleId;
using model::Role;

// Root mean squares that make every operation matter. Inputs of linears have root mean square
// about 1 (they come out of a norm), so a linear's outputs have rms · sqrt(K).
constexpr double kEmbedding = 0.3;
constexpr double kQueryKey = 1.35;  // attention logits of deviation 1.35² = 1.8
constexpr double kUpdate = 0.25;    // of what attention and MLP add to the residual
constexpr double kLogits = 2.5;
constexpr double kBias = 0.3;

double output_rms(const model::ModelSpec& spec, Role role) {
  // What is left after averaging over positions (attention) or after act(gate)·up, as measured;
  // a sub-norm brings it back to 1.
  constexpr double kAveraged = 0.65;
  constexpr double kGated = 0.75;
  switch (role) {
    case Role::kQProj:
    case Role::kKProj:
      return kQueryKey;
    case Role::kOProj:
      return spec.attn_sub_norm ? kUpdate : kUpdate / kAveraged;
    case Role::kDownProj:
      return spec.ffn_sub_norm ? kUpdate : kUpdate / kGated;
    case Role::kGateProj:
      return 1.5;
    case Role::kLmHead:
      return kLogits;
    default:
      return 1.0;
  }
}

double weight_rms(const model::ModelSpec& spec, Role role) {
  if (role == Role::kEmbedding) return kEmbedding;
  const auto cols = static_cast<double>(model::module_shape(spec, role).cols);
  return output_rms(spec, role) / std::sqrt(cols);
}

std::vector<std::byte> stored_as(DType dtype, std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * dtype_size(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t half = 0;
    switch (dtype) {
      case DType::kF16:
        half = f16_from_f32(values[i]);
        values[i] = f32_from_f16(half);
        break;
      case DType::kBF16:
        half = bf16_from_f32(values[i]);
        values[i] = f32_from_bf16(half);
        break;
      default:
        TRILITH_CHECK(dtype == DType::kF32);
        std::memcpy(bytes.data() + i * 4, &values[i], 4);
        continue;
    }
    std::memcpy(bytes.data() + i * 2, &half, 2);
  }
  return bytes;
}

class Builder {
 public:
  explicit Builder(const TinyModelOptions& options) : options_(options) {}

  TinyModel build() {
    make_config();
    for (const ModuleId& id : model::modules_of(tiny_.spec)) {
      if (model::is_norm(id.role)) {
        add_gain(id);
      } else {
        add_matrix(id);
      }
      if (model::has_bias(tiny_.spec, id.role)) add_bias(id);
    }
    return std::move(tiny_);
  }

 private:
  void make_config() {
    const bool bitnet = options_.model_type == "bitnet";
    Json& config = tiny_.config;
    config = Json::object(
        {{"architectures", Json(Json::Array{bitnet ? "BitNetForCausalLM" : "LlamaForCausalLM"})},
         {"model_type", options_.model_type},
         {"vocab_size", options_.vocab_size},
         {"hidden_size", options_.hidden_size},
         {"intermediate_size", options_.intermediate_size},
         {"num_hidden_layers", options_.num_hidden_layers},
         {"num_attention_heads", options_.num_attention_heads},
         {"num_key_value_heads", options_.num_key_value_heads},
         {"head_dim", options_.head_dim},
         {"hidden_act",
          options_.hidden_act.empty() ? (bitnet ? "relu2" : "silu") : options_.hidden_act.c_str()},
         {"rms_norm_eps", 1e-5},
         {"rope_theta", options_.rope_theta},
         {"max_position_embeddings", 512},
         {"tie_word_embeddings", options_.tied},
         {"attention_bias", options_.attention_bias},
         {"bos_token_id", 0},
         {"eos_token_id", 0}});
    if (!bitnet) config.set("mlp_bias", options_.mlp_bias);
    if (!options_.quantization_config.is_null()) {
      config.set("quantization_config", options_.quantization_config);
    }
    auto spec = model::model_spec_from_config(config, {});
    TRILITH_CHECK(spec.ok());
    tiny_.spec = std::move(spec).value();
  }

  std::string plain_name(const std::string& usual) {
    return options_.neutral_names ? fmt::format("t{:02}", plain_count_++) : usual;
  }

  void add_plain(const std::string& part, const std::string& usual, Shape shape,
                 std::vector<float> values) {
    TinyTensor tensor{plain_name(usual), options_.dense_dtype, std::move(shape), {}};
    tensor.bytes = stored_as(tensor.dtype, values);
    tiny_.sheet.plain[part] = tensor.name;
    tiny_.dense[part] = std::move(values);
    tiny_.tensors.push_back(std::move(tensor));
  }

  void add_gain(const ModuleId& id) {
    const std::string name = model::module_name(id);
    Random random(options_.seed, name);
    std::vector<float> gain(static_cast<size_t>(model::module_shape(tiny_.spec, id.role).rows));
    for (float& value : gain) value = static_cast<float>(random.positive(0.3));
    const auto rows = static_cast<int64_t>(gain.size());
    add_plain(name, name + ".weight", {rows}, std::move(gain));
  }

  void add_bias(const ModuleId& id) {
    const std::string name = model::module_name(id) + ".bias";
    Random random(options_.seed, name);
    std::vector<float> bias(static_cast<size_t>(model::module_shape(tiny_.spec, id.role).rows));
    const double rms = kBias * output_rms(tiny_.spec, id.role);
    for (float& value : bias) value = static_cast<float>(random.normal() * rms);
    const auto rows = static_cast<int64_t>(bias.size());
    add_plain(name, name, {rows}, std::move(bias));
  }

  const packing::PackingSpec* packing_of(Role role) const {
    const auto single = options_.packing_of.find(role);
    if (single != options_.packing_of.end()) return &single->second;
    const bool packs = model::is_linear(role) && role != Role::kLmHead && options_.packing;
    return packs ? &*options_.packing : nullptr;
  }

  void add_matrix(const ModuleId& id) {
    const std::string name = model::module_name(id);
    const auto [rows, cols] = model::module_shape(tiny_.spec, id.role);
    const double rms = weight_rms(tiny_.spec, id.role);
    Random random(options_.seed, name);
    if (const auto* packing = packing_of(id.role)) {
      add_packed(id, *packing, random_matrix(*packing, rows, cols, rms, random));
      return;
    }
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (float& value : values) value = static_cast<float>(random.normal() * rms);
    add_plain(name, name + ".weight", {rows, cols}, std::move(values));
  }

  void add_packed(const ModuleId& id, const packing::PackingSpec& packing,
                  const packing::QuantMatrix& matrix) {
    const std::string name = model::module_name(id);
    auto stored = packing::encode(packing, matrix);
    TRILITH_CHECK(stored.ok());
    model::ModuleFormat module{name, id, matrix.rows, matrix.cols, {}, packing};
    if (options_.neutral_names) module.name = fmt::format("m{:02}", tiny_.sheet.modules.size());
    int piece = 0;
    for (auto& [role, tensor] : *stored) {
      const std::string usual = role == "codes"   ? name + ".weight"
                                : role == "scale" ? name + ".weight_scale"
                                                  : name + "." + role;
      const std::string stored_name =
          options_.neutral_names ? fmt::format("{}.p{}", module.name, piece++) : usual;
      module.stored[role] = stored_name;
      tiny_.tensors.push_back(
          {stored_name, tensor.dtype, std::move(tensor.shape), std::move(tensor.bytes)});
    }
    tiny_.dense[name] = matrix.dense();
    tiny_.sheet.modules.push_back(std::move(module));
  }

  const TinyModelOptions& options_;
  TinyModel tiny_;
  int plain_count_ = 0;
};

void write_shard(const std::string& path, std::span<const TinyTensor> tensors) {
  std::vector<checkpoint::TensorToWrite> list;
  for (const TinyTensor& tensor : tensors) {
    list.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  TRILITH_CHECK(checkpoint::write_safetensors(path, list, Json::object({{"format", "pt"}})).ok());
}

}  // namespace

TinyTensor& TinyModel::find(const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &TinyTensor::name);
  TRILITH_CHECK(found != tensors.end());
  return *found;
}

TinyTensor& TinyModel::tensor_of(const ModuleId& id, const std::string& role) {
  if (const auto* module = sheet.find(id)) return find(module->stored.at(role));
  return find(sheet.plain.at(model::module_name(id)));
}

void TinyModel::remove(const std::string& name) {
  std::erase_if(tensors, [&](const TinyTensor& tensor) { return tensor.name == name; });
}

void TinyModel::write(const std::string& folder, int shards) const {
  TRILITH_CHECK(write_text_file(folder + "/config.json", config.dump(2)).ok());
  if (shards <= 1) return write_shard(folder + "/model.safetensors", tensors);
  Json map = Json::object();
  const auto count = static_cast<size_t>(shards);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, count);
    const size_t begin = tensors.size() * i / count;
    const size_t end = tensors.size() * (i + 1) / count;
    write_shard(folder + "/" + name, std::span(tensors).subspan(begin, end - begin));
    for (size_t t = begin; t < end; ++t) map.set(tensors[t].name, name);
  }
  const Json index = Json::object({{"metadata", Json::object()}, {"weight_map", map}});
  TRILITH_CHECK(write_text_file(folder + "/model.safetensors.index.json", index.dump(2)).ok());
}

void TinyModel::write_sheet(const std::string& folder) const {
  TRILITH_CHECK(
      write_text_file(folder + "/trilith_sheet.json", model::to_json(sheet).dump(1)).ok());
}

TinyModel make_tiny_model(const TinyModelOptions& options) { return Builder(options).build(); }

}  // namespace trilith::support
