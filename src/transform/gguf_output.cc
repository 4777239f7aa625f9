#include "transform/gguf_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/check.h"
#include "checkpoint/gguf_model.h"
#include "model/embedded_tokenizer.h"
#include "model/gguf_pre_tokenizer.h"

namespace trilith::transform {
namespace {

using checkpoint::GgufWriter;

// llama_token_type.
constexpr int32_t kNormal = 1;
constexpr int32_t kControl = 3;
constexpr int32_t kUserDefined = 4;
constexpr int32_t kUnused = 5;

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

void set_sizes(GgufWriter& writer, const model::ModelSpec& spec, const std::string& architecture) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", architecture, name); };
  writer.set_string("general.architecture", architecture);
  writer.set_u32("general.quantization_version", 2);
  writer.set_u32(key("vocab_size"), u32(spec.vocab_size));
  writer.set_u32(key("context_length"), u32(spec.max_position_embeddings));
  writer.set_u32(key("embedding_length"), u32(spec.hidden_size));
  writer.set_u32(key("block_count"), u32(spec.num_hidden_layers));
  writer.set_u32(key("feed_forward_length"), u32(spec.intermediate_size));
  writer.set_u32(key("attention.head_count"), u32(spec.num_attention_heads));
  writer.set_u32(key("attention.head_count_kv"), u32(spec.num_key_value_heads));
  writer.set_u32(key("attention.key_length"), u32(spec.head_dim));
  writer.set_u32(key("attention.value_length"), u32(spec.head_dim));
  writer.set_u32(key("rope.dimension_count"), u32(spec.head_dim));
  writer.set_f32(key("rope.freq_base"), static_cast<float>(spec.rope.theta));
  writer.set_f32(key("attention.layer_norm_rms_epsilon"), static_cast<float>(spec.rms_norm_eps));
}

// A merge is "a b" or, in newer files, ["a", "b"].
std::optional<std::string> merge_text(const Json& merge) {
  if (const std::string* text = merge.as_string()) return *text;
  const Json::Array* const pair = merge.as_array();
  if (pair == nullptr || pair->size() != 2) return std::nullopt;
  const std::string* const left = (*pair)[0].as_string();
  const std::string* const right = (*pair)[1].as_string();
  if (left == nullptr || right == nullptr) return std::nullopt;
  return *left + " " + *right;
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;
};

// Nothing where the file is no byte-level BPE, or malformed.
std::optional<Vocabulary> byte_level_vocabulary(const Json& tokenizer, int64_t size) {
  const Json& model = tokenizer["model"];
  if (model["type"] != Json("BPE") || tokenizer["decoder"]["type"] != Json("ByteLevel")) {
    return std::nullopt;
  }
  Vocabulary vocabulary;
  const auto count = static_cast<size_t>(size);
  vocabulary.tokens.resize(count);
  vocabulary.types.assign(count, kUnused);
  const auto place = [&](const std::string& token, const Json& id, int32_t type) {
    const auto index = id.as_integer();
    if (!index || *index < 0 || *index >= size) return;
    vocabulary.tokens[static_cast<size_t>(*index)] = token;
    vocabulary.types[static_cast<size_t>(*index)] = type;
  };
  const Json::Object* const vocab = model["vocab"].as_object();
  const Json::Array* const merges = model["merges"].as_array();
  if (vocab == nullptr || merges == nullptr) return std::nullopt;
  for (const auto& [token, id] : *vocab) place(token, id, kNormal);
  if (const Json::Array* const added = tokenizer["added_tokens"].as_array()) {
    for (const Json& token : *added) {
      const std::string* const content = token["content"].as_string();
      const bool special = token["special"].as_bool().value_or(false);
      if (content != nullptr) place(*content, token["id"], special ? kControl : kUserDefined);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (vocabulary.tokens[i].empty()) vocabulary.tokens[i] = fmt::format("[PAD{}]", i);
  }
  for (const Json& merge : *merges) {
    auto text = merge_text(merge);
    if (!text) return std::nullopt;
    vocabulary.merges.push_back(std::move(*text));
  }
  return vocabulary;
}

// That of the source: in the keys of a GGUF file, or beside the weights.
Result<Json> tokenizer_of(const Source& source) {
  TRILITH_ASSIGN_OR_RETURN(std::optional<Json> embedded,
                           model::embedded_tokenizer(source.checkpoint));
  if (embedded) return std::move(*embedded);
  return source.checkpoint.side_json("tokenizer.json");
}

// The id of the token that begins every text; nothing where none is added.
std::optional<int64_t> begin_of(const Json& processor) {
  if (const Json::Array* const steps = processor["processors"].as_array()) {
    for (const Json& step : *steps) {
      if (const auto id = begin_of(step)) return id;
    }
  }
  const Json::Array* const single = processor["single"].as_array();
  if (single == nullptr || single->empty()) return std::nullopt;
  const std::string* const name = single->front()["SpecialToken"]["id"].as_string();
  if (name == nullptr) return std::nullopt;
  const Json::Array* const ids = processor["special_tokens"][*name]["ids"].as_array();
  return ids != nullptr && ids->size() == 1 ? ids->front().as_integer() : std::nullopt;
}

Status set_tokenizer(GgufWriter& writer, const Source& source, std::vector<std::string>& notes) {
  auto json = tokenizer_of(source);
  const auto vocabulary =
      json.ok() ? byte_level_vocabulary(*json, source.spec.vocab_size) : std::nullopt;
  if (!vocabulary) {
    notes.emplace_back(
        "the file has no tokenizer: that of the source is absent or no byte-level BPE");
    return {};
  }
  const std::string_view name = model::gguf_pre_tokenizer_name(*json);
  writer.set_string("tokenizer.ggml.model", "gpt2");
  // How text is split before merging cannot be told from the pattern in general; llama.cpp keeps a
  // list of named ones.
  writer.set_string("tokenizer.ggml.pre", name.empty() ? "gpt-2" : name);
  writer.set_strings("tokenizer.ggml.tokens", vocabulary->tokens);
  writer.set_integers("tokenizer.ggml.token_type", vocabulary->types);
  writer.set_strings("tokenizer.ggml.merges", vocabulary->merges);
  const std::optional<int64_t> begin = begin_of((*json)["post_processor"]);
  if (begin && *begin >= 0 && *begin < source.spec.vocab_size) {
    writer.set_u32("tokenizer.ggml.bos_token_id", u32(*begin));
  } else if (!source.spec.bos_token_ids.empty()) {
    writer.set_u32("tokenizer.ggml.bos_token_id", u32(source.spec.bos_token_ids.front()));
  }
  if (!source.spec.eos_token_ids.empty()) {
    writer.set_u32("tokenizer.ggml.eos_token_id", u32(source.spec.eos_token_ids.front()));
  }
  writer.set_bool("tokenizer.ggml.add_bos_token", begin.has_value());
  if (name.empty()) {
    notes.emplace_back(
        "the tokenizer splits text in a way that has no name in a GGUF file, which says GPT-2's: "
        "texts may become other tokens");
  }
  return {};
}

// The type id of a dense tensor.
uint32_t id_of(DType dtype) {
  const auto types = checkpoint::ggml_types();
  const auto found = std::ranges::find_if(
      types, [&](const checkpoint::GgmlType& type) { return type.plain == dtype; });
  TRILITH_CHECK(found != types.end());
  return found->id;
}

}  // namespace

Status write_gguf(const ConvertRequest& request, const Source& source, const Plan& plan,
                  const std::string& path, const std::function<Status()>& after_part,
                  std::vector<std::string>& notes) {
  TRILITH_ASSIGN_OR_RETURN(GgufWriter writer, GgufWriter::create(path));
  set_sizes(writer, source.spec, source.spec.model_type);
  TRILITH_RETURN_IF_ERROR(set_tokenizer(writer, source, notes));
  for (const PlannedPart& part : plan.parts) {
    const TensorToCome& tensor = part.tensors.front().tensor;
    const uint32_t type = part.spec ? request.target->ggml->id : id_of(tensor.dtype);
    TRILITH_RETURN_IF_ERROR(writer.declare(tensor.name, type, tensor.shape, tensor.bytes));
  }
  for (const PlannedPart& part : plan.parts) {
    TRILITH_RETURN_IF_ERROR(encode_part(request, source, part,
                                        [&](const TensorToCome&, std::span<const std::byte> bytes) {
                                          return writer.write(bytes);
                                        }));
    TRILITH_RETURN_IF_ERROR(after_part());
  }
  return writer.finish();
}

}  // namespace trilith::transform
