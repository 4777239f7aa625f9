#include "checkpoint/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace trilith::checkpoint {
namespace {

constexpr GgufArchitecture kArchitectures[] = {
    {"llama", "llama", "silu", true},     {"mistral3", "mistral", "silu", true},
    {"smollm3", "smollm3", "silu", true}, {"qwen2", "qwen2", "silu"},
    {"qwen3", "qwen3", "silu"},           {"bitnet", "bitnet", "relu2"},
    {"bitnet-25", "bitnet", "relu2"},     {"bitnet-b1.58", "bitnet", "relu2"},
};

struct ModuleName {
  std::string_view gguf;
  std::string_view transformers;
};
constexpr ModuleName kModel[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
constexpr ModuleName kLayer[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_sub_norm", "self_attn.attn_sub_norm"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_sub_norm", "mlp.ffn_sub_norm"},
    {"ffn_down", "mlp.down_proj"},
};

bool is_layer_number(std::string_view text) {
  return !text.empty() && text.size() <= 6 && (text == "0" || text.front() != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The keys hold float32; config.json holds the decimal that was meant.
double decimal(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), static_cast<float>(value)).ptr;
  double meant = value;
  std::from_chars(text, end, meant);
  return meant;
}

class ConfigBuilder {
 public:
  ConfigBuilder(const Json& metadata, std::span<const GgufArray> arrays,
                std::span<const TensorView> tensors)
      : metadata_(metadata), arrays_(arrays), tensors_(tensors) {}

  Result<Json> build() {
    const std::string* name = metadata_["general.architecture"].as_string();
    if (name == nullptr) return Error::damaged("the file names no general.architecture");
    const GgufArchitecture* architecture = gguf_architecture(*name);
    if (architecture == nullptr) {
      return Error::unsupported("the architecture is not known").with_found(*name);
    }
    prefix_ = *name + ".";
    config_ = Json::object(
        {{"model_type", architecture->model_type}, {"hidden_act", architecture->hidden_act}});
    TRILITH_RETURN_IF_ERROR(copy_size("embedding_length", "hidden_size", true));
    TRILITH_RETURN_IF_ERROR(copy_size("feed_forward_length", "intermediate_size", true));
    TRILITH_RETURN_IF_ERROR(copy_size("block_count", "num_hidden_layers", true));
    TRILITH_RETURN_IF_ERROR(copy_size("attention.head_count", "num_attention_heads", true));
    TRILITH_RETURN_IF_ERROR(copy_size("attention.head_count_kv", "num_key_value_heads", false));
    TRILITH_RETURN_IF_ERROR(copy_size("context_length", "max_position_embeddings", false));
    TRILITH_RETURN_IF_ERROR(set_vocabulary());
    TRILITH_RETURN_IF_ERROR(copy_size("attention.key_length", "head_dim", false));
    if (config_.find("head_dim") == nullptr) {
      TRILITH_RETURN_IF_ERROR(copy_size("rope.dimension_count", "head_dim", false));
    }
    copy_number("attention.layer_norm_rms_epsilon", "rms_norm_eps");
    config_.set("rope_theta", 10000.0);
    copy_number("rope.freq_base", "rope_theta");
    set_scaling();
    config_.set("tie_word_embeddings", !has("output.weight"));
    config_.set("attention_bias", has("blk.0.attn_q.bias"));
    config_.set("mlp_bias", has("blk.0.ffn_up.bias"));
    for (const char* token : {"bos", "eos"}) {
      const Json& id = metadata_[fmt::format("tokenizer.ggml.{}_token_id", token)];
      if (id.is_integer()) config_.set(fmt::format("{}_token_id", token), id);
    }
    return std::move(config_);
  }

 private:
  const Json& key(std::string_view name) const { return metadata_[prefix_ + std::string(name)]; }

  bool has(std::string_view tensor) const {
    return std::ranges::find(tensors_, tensor, &TensorView::name) != tensors_.end();
  }

  Status copy_size(std::string_view from, const char* to, bool required) {
    const Json& value = key(from);
    if (value.is_null() && !required) return {};
    const auto size = value.as_integer();
    if (value.is_array()) {
      return Error::unsupported("a size differs between layers")
          .with_found(prefix_ + std::string(from));
    }
    if (!size || *size < 1 || *size > INT32_MAX) {
      return Error::damaged("a size is missing or senseless")
          .with_expected(fmt::format("a positive number under {}{}", prefix_, from))
          .with_found(value.dump());
    }
    config_.set(to, *size);
    return {};
  }

  void copy_number(std::string_view from, const char* to) {
    if (const auto value = key(from).as_number()) config_.set(to, decimal(*value));
  }

  // The key is optional: the vocabulary itself and the embedding say it too.
  Status set_vocabulary() {
    if (!key("vocab_size").is_null()) return copy_size("vocab_size", "vocab_size", true);
    const auto tokens = std::ranges::find(arrays_, "tokenizer.ggml.tokens", &GgufArray::key);
    if (tokens != arrays_.end()) {
      config_.set("vocab_size", tokens->count);
      return {};
    }
    const auto embedding = std::ranges::find(tensors_, "token_embd.weight", &TensorView::name);
    if (embedding == tensors_.end()) return Error::damaged("nothing tells the vocabulary's size");
    config_.set("vocab_size", embedding->dim(0));
    return {};
  }

  void set_scaling() {
    // Llama 3's scaling is a tensor of factors, one a frequency; its parameters are not kept.
    if (has("rope_freqs.weight")) {
      config_.set("rope_scaling", Json::object({{"rope_type", "rope_freqs"}}));
      return;
    }
    const std::string* type = key("rope.scaling.type").as_string();
    if (type == nullptr || *type == "none") return;
    Json scaling = Json::object({{"rope_type", *type}});
    if (const auto factor = key("rope.scaling.factor").as_number()) {
      scaling.set("factor", decimal(*factor));
    }
    if (const auto length = key("rope.scaling.original_context_length").as_integer()) {
      scaling.set("original_max_position_embeddings", *length);
    }
    // What else the file says of it goes along, for whoever reads the config to accept or refuse.
    const std::string prefix = prefix_ + "rope.scaling.";
    for (const auto& [name, value] : *metadata_.as_object()) {
      if (!name.starts_with(prefix)) continue;
      const std::string rest = name.substr(prefix.size());
      if (rest == "type" || rest == "factor" || rest == "original_context_length") continue;
      if (rest != "finetuned") scaling.set(rest, value);
    }
    config_.set("rope_scaling", std::move(scaling));
  }

  const Json& metadata_;
  std::span<const GgufArray> arrays_;
  std::span<const TensorView> tensors_;
  std::string prefix_;
  Json config_;
};

}  // namespace

const GgufArchitecture* gguf_architecture(std::string_view name) {
  const auto* found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  return found != std::end(kArchitectures) ? found : nullptr;
}

std::optional<std::string> transformers_name(std::string_view gguf_name) {
  std::string prefix;
  std::span<const ModuleName> names = kModel;
  std::string_view rest = gguf_name;
  if (rest.starts_with("blk.")) {
    rest.remove_prefix(4);
    const std::string_view layer = rest.substr(0, rest.find('.'));
    if (!is_layer_number(layer) || layer.size() == rest.size()) return std::nullopt;
    prefix = fmt::format("model.layers.{}.", layer);
    names = kLayer;
    rest.remove_prefix(layer.size() + 1);
  }
  const std::string_view module = rest.substr(0, rest.find('.'));
  const auto found = std::ranges::find(names, module, &ModuleName::gguf);
  if (found == names.end()) return std::nullopt;
  return prefix + std::string(found->transformers) + std::string(rest.substr(module.size()));
}

Result<Json> gguf_config(const Json& metadata, std::span<const GgufArray> arrays,
                         std::span<const TensorView> tensors) {
  return ConfigBuilder(metadata, arrays, tensors).build();
}

}  // namespace trilith::checkpoint
