#include "model/embedded_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/utf8.h"
#include "model/gguf_format.h"

namespace trilith::model {
namespace {

using checkpoint::Checkpoint;

constexpr const char* kPrefix = "tokenizer.ggml.";
// Kinds of tokens (gguf-py, TokenType).
constexpr int64_t kControl = 3;
constexpr int64_t kUserDefined = 4;

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

Json byte_level(bool use_regex) {
  return Json::object({{"type", "ByteLevel"},
                       {"add_prefix_space", false},
                       {"trim_offsets", true},
                       {"use_regex", use_regex}});
}

Json sequence(Json first, Json second) {
  Json::Array steps;
  steps.push_back(std::move(first));
  steps.push_back(std::move(second));
  return Json::object({{"type", "Sequence"}, {"pretokenizers", Json(std::move(steps))}});
}

Json split(const char* pattern) {
  return Json::object({{"type", "Split"},
                       {"pattern", Json::object({{"Regex", pattern}})},
                       {"behavior", "Isolated"},
                       {"invert", false}});
}

// How text is cut before merging, by tokenizer.ggml.pre.
struct PreTokenizer {
  Json json;
  Json normalizer;             // null: none
  bool ignore_merges = false;  // words of the vocabulary are taken whole
  bool begins = false;         // with the first token, unless the file says otherwise
};

std::optional<PreTokenizer> pre_tokenizer(const std::string& name) {
  if (name == "gpt-2") return PreTokenizer{byte_level(true), {}, false, false};
  if (name == "smollm") {
    Json digits = Json::object({{"type", "Digits"}, {"individual_digits", true}});
    return PreTokenizer{sequence(std::move(digits), byte_level(true)), {}, false, false};
  }
  if (name == "llama-bpe" || name == "llama3" || name == "llama-v3") {
    return PreTokenizer{sequence(split(kLlama3), byte_level(false)), {}, true, true};
  }
  if (name == "qwen2") {
    return PreTokenizer{sequence(split(kQwen2), byte_level(false)), Json::object({{"type", "NFC"}}),
                        false, false};
  }
  return std::nullopt;
}

class Builder {
 public:
  explicit Builder(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  Result<std::optional<Json>> build() {
    const checkpoint::GgufArray* const tokens = checkpoint_.gguf_array(key("tokens"));
    if (tokens == nullptr) return std::optional<Json>();
    const std::string model = text("model");
    if (model != "gpt2") {
      return Error::unsupported("this kind of vocabulary in a GGUF file is not read")
          .with_expected("tokenizer.ggml.model gpt2 (byte-level BPE)")
          .with_found(model.empty() ? "none named" : model);
    }
    const std::string name = text("pre");
    const auto pre = pre_tokenizer(name);
    if (!pre) {
      return Error::unsupported("this way of splitting text is not known")
          .with_expected("tokenizer.ggml.pre gpt-2, smollm, llama-bpe or qwen2")
          .with_found(name.empty() ? "none named" : name);
    }
    TRILITH_RETURN_IF_ERROR(read_tokens(*tokens));
    TRILITH_ASSIGN_OR_RETURN(Json merges, read_merges());
    TRILITH_ASSIGN_OR_RETURN(Json post, post_processor(*pre));
    Json bpe = Json::object({{"type", "BPE"},
                             {"dropout", Json()},
                             {"unk_token", Json()},
                             {"continuing_subword_prefix", Json()},
                             {"end_of_word_suffix", Json()},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", pre->ignore_merges}});
    bpe.set("vocab", Json(std::move(vocab_)));
    bpe.set("merges", std::move(merges));
    Json json = Json::object({{"version", "1.0"}, {"truncation", Json()}, {"padding", Json()}});
    json.set("added_tokens", Json(std::move(added_)));
    json.set("normalizer", pre->normalizer);
    json.set("pre_tokenizer", pre->json);
    json.set("post_processor", std::move(post));
    json.set("decoder", byte_level(true));
    json.set("model", std::move(bpe));
    return std::optional(std::move(json));
  }

 private:
  static std::string key(std::string_view name) { return fmt::format("{}{}", kPrefix, name); }
  std::string text(std::string_view name) const {
    const std::string* value = checkpoint_.metadata()[key(name)].as_string();
    return value != nullptr ? *value : "";
  }
  static Error damaged(std::string_view name, std::string expected, std::string found) {
    return Error::damaged(fmt::format("{}{} cannot be a vocabulary's", kPrefix, name))
        .with_expected(std::move(expected))
        .with_found(std::move(found));
  }

  Status read_tokens(const checkpoint::GgufArray& array) {
    const auto tokens = array.strings();
    if (!tokens || tokens->empty()) return damaged("tokens", "strings", "something else");
    std::vector<int64_t> types(tokens->size(), 1);
    if (const auto* stored = checkpoint_.gguf_array(key("token_type"))) {
      const auto values = stored->integers();
      if (!values || values->size() != tokens->size()) {
        return damaged("token_type", fmt::format("{} integers", tokens->size()),
                       values ? std::to_string(values->size()) : "other values");
      }
      types = *values;
    }
    for (size_t id = 0; id < tokens->size(); ++id) {
      std::string token((*tokens)[id]);
      if (first_invalid_utf8(token)) {
        return damaged("tokens", "UTF-8", fmt::format("other bytes in token {}", id));
      }
      const auto [known, fresh] = ids_.emplace(token, id);
      if (!fresh) {
        return damaged("tokens", "every token once",
                       fmt::format("tokens {} and {} alike", known->second, id));
      }
      if (types[id] == kControl || types[id] == kUserDefined) {
        added_.push_back(Json::object({{"id", static_cast<int64_t>(id)},
                                       {"content", token},
                                       {"single_word", false},
                                       {"lstrip", false},
                                       {"rstrip", false},
                                       {"normalized", false},
                                       {"special", types[id] == kControl}}));
      }
      vocab_.emplace_back(std::move(token), static_cast<int64_t>(id));
    }
    return {};
  }

  Result<Json> read_merges() const {
    const auto* const array = checkpoint_.gguf_array(key("merges"));
    const auto merges = array != nullptr ? array->strings() : std::nullopt;
    if (!merges) return damaged("merges", "strings", "none");
    Json::Array list;
    for (size_t i = 0; i < merges->size(); ++i) {
      const std::string merge((*merges)[i]);
      const size_t space = merge.find(' ', 1);  // a part may be a blank of its own
      if (space == std::string::npos || space + 1 >= merge.size()) {
        return damaged("merges", "two tokens", fmt::format("another form in merge {}", i));
      }
      for (const std::string& part : {merge.substr(0, space), merge.substr(space + 1)}) {
        if (ids_.contains(part)) continue;
        return damaged("merges", "parts that are tokens",
                       fmt::format("merge {} of an unknown part", i));
      }
      list.emplace_back(merge);
    }
    return Json(std::move(list));
  }

  // The token that begins every text, where the file or the kind asks for one.
  Result<Json> post_processor(const PreTokenizer& pre) const {
    const Json& said = checkpoint_.metadata()[key("add_bos_token")];
    if (!said.as_bool().value_or(pre.begins)) return byte_level(true);
    const auto id = checkpoint_.metadata()[key("bos_token_id")].as_integer();
    if (!id || *id < 0 || *id >= static_cast<int64_t>(vocab_.size())) {
      return damaged("bos_token_id", fmt::format("0 to {}", vocab_.size() - 1),
                     id ? std::to_string(*id) : "none");
    }
    const std::string& token = vocab_[static_cast<size_t>(*id)].first;
    Json::Array single;
    single.push_back(
        Json::object({{"SpecialToken", Json::object({{"id", token}, {"type_id", 0}})}}));
    single.push_back(Json::object({{"Sequence", Json::object({{"id", "A"}, {"type_id", 0}})}}));
    Json::Array pair = single;
    pair.push_back(Json::object({{"Sequence", Json::object({{"id", "B"}, {"type_id", 1}})}}));
    Json special = Json::object();
    special.set(token, Json::object({{"id", token},
                                     {"ids", Json::array(std::vector<int64_t>{*id})},
                                     {"tokens", Json::array(std::vector<std::string>{token})}}));
    Json json = Json::object({{"type", "TemplateProcessing"}});
    json.set("single", Json(std::move(single)));
    json.set("pair", Json(std::move(pair)));
    json.set("special_tokens", std::move(special));
    return json;
  }

  const Checkpoint& checkpoint_;
  std::unordered_map<std::string, size_t> ids_;
  Json::Object vocab_;
  Json::Array added_;
};

}  // namespace

Result<std::optional<Json>> embedded_tokenizer(const Checkpoint& checkpoint) {
  if (!is_gguf(checkpoint)) return std::optional<Json>();
  return Builder(checkpoint).build();
}

}  // namespace trilith::model
