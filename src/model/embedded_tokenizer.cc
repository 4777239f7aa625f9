#include "model/embedded_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/utf8.h"
#include "model/gguf_format.h"
#include "model/gguf_pre_tokenizer.h"
#include "model/piece_merges.h"

namespace trilith::model {
namespace {

using checkpoint::Checkpoint;

constexpr const char* kPrefix = "tokenizer.ggml.";
// Kinds of tokens (gguf-py, TokenType).
constexpr int64_t kNormal = 1;
constexpr int64_t kUnknown = 2;
constexpr int64_t kControl = 3;
constexpr int64_t kUserDefined = 4;
constexpr int64_t kByte = 6;

// U+2581, which SentencePiece writes for a blank.
constexpr const char* kBlank = "\xe2\x96\x81";

Json byte_level() {
  return Json::object({{"type", "ByteLevel"},
                       {"add_prefix_space", false},
                       {"trim_offsets", true},
                       {"use_regex", true}});
}

Json replace(const char* from, const char* to) {
  return Json::object(
      {{"type", "Replace"}, {"pattern", Json::object({{"String", from}})}, {"content", to}});
}

Json sequence(const char* list, Json::Array steps) {
  Json json = Json::object({{"type", "Sequence"}});
  json.set(list, Json(std::move(steps)));
  return json;
}

class Builder {
 public:
  explicit Builder(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  Result<std::optional<Json>> build() {
    const checkpoint::GgufArray* const tokens = checkpoint_.gguf_array(key("tokens"));
    if (tokens == nullptr) return std::optional<Json>();
    const std::string model = text("model");
    if (model != "gpt2" && model != "llama") {
      return Error::unsupported("this kind of vocabulary in a GGUF file is not read")
          .with_expected("tokenizer.ggml.model gpt2 (byte-level BPE) or llama (SentencePiece BPE)")
          .with_found(model.empty() ? "none named" : model);
    }
    auto json = model == "gpt2" ? byte_level_bpe(*tokens) : piece_bpe(*tokens);
    if (!json.ok()) return std::move(json).error();
    return std::optional(std::move(json).value());
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

  Result<Json> byte_level_bpe(const checkpoint::GgufArray& tokens) {
    const std::string name = text("pre");
    const auto pre = gguf_pre_tokenizer(name);
    if (!pre) {
      return Error::unsupported("this way of splitting text is not known")
          .with_expected(fmt::format("tokenizer.ggml.pre {}", gguf_pre_tokenizer_names()))
          .with_found(name.empty() ? "none named" : name);
    }
    TRILITH_RETURN_IF_ERROR(read_tokens(tokens));
    TRILITH_ASSIGN_OR_RETURN(Json merges, read_merges());
    TRILITH_ASSIGN_OR_RETURN(Json post, post_processor(pre->begins, byte_level()));
    Json json = file(std::move(post));
    json.set("normalizer", pre->normalizer);
    json.set("pre_tokenizer", pre->json);
    json.set("decoder", byte_level());
    Json bpe = model(false, false);
    bpe.set("ignore_merges", pre->ignore_merges);
    bpe.set("vocab", Json(std::move(vocab_)));
    bpe.set("merges", std::move(merges));
    json.set("model", std::move(bpe));
    return json;
  }

  // As transformers turns a SentencePiece model into a tokenizer.json.
  Result<Json> piece_bpe(const checkpoint::GgufArray& tokens) {
    TRILITH_RETURN_IF_ERROR(read_tokens(tokens));
    TRILITH_ASSIGN_OR_RETURN(PieceMerges merges, read_scores());
    TRILITH_ASSIGN_OR_RETURN(Json post, post_processor(true, Json()));
    Json json = file(std::move(post));
    const bool prefix = flag("add_space_prefix", true);
    Json::Array prepare;
    if (prefix) prepare.push_back(Json::object({{"type", "Prepend"}, {"prepend", kBlank}}));
    prepare.push_back(replace(" ", kBlank));
    json.set("normalizer", sequence("normalizers", std::move(prepare)));
    json.set("pre_tokenizer", Json());
    Json::Array decode;
    decode.push_back(replace(kBlank, " "));
    decode.push_back(Json::object({{"type", "ByteFallback"}}));
    decode.push_back(Json::object({{"type", "Fuse"}}));
    if (prefix) {
      decode.push_back(
          Json::object({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}));
    }
    json.set("decoder", sequence("decoders", std::move(decode)));
    const bool bytes = std::ranges::find(types_, kByte) != types_.end();
    Json bpe = model(true, bytes);
    const auto unknown = std::ranges::find(types_, kUnknown);
    if (unknown != types_.end()) {
      bpe.set("unk_token", vocab_[static_cast<size_t>(unknown - types_.begin())].first);
    }
    bpe.set("vocab", Json(std::move(vocab_)));
    bpe.set("merges", Json(std::move(merges.merges)));
    bpe.set("merge_ranks", Json::array(merges.ranks));
    json.set("model", std::move(bpe));
    return json;
  }

  Json file(Json post) {
    Json json = Json::object({{"version", "1.0"}, {"truncation", Json()}, {"padding", Json()}});
    json.set("added_tokens", Json(std::move(added_)));
    json.set("post_processor", std::move(post));
    return json;
  }

  static Json model(bool fuse_unknown, bool byte_fallback) {
    return Json::object({{"type", "BPE"},
                         {"dropout", Json()},
                         {"unk_token", Json()},
                         {"continuing_subword_prefix", Json()},
                         {"end_of_word_suffix", Json()},
                         {"fuse_unk", fuse_unknown},
                         {"byte_fallback", byte_fallback},
                         {"ignore_merges", false}});
  }

  Result<PieceMerges> read_scores() const {
    const auto* const array = checkpoint_.gguf_array(key("scores"));
    const auto scores = array != nullptr ? array->numbers() : std::nullopt;
    if (!scores || scores->size() != vocab_.size()) {
      return damaged("scores", fmt::format("{} numbers", vocab_.size()),
                     scores ? std::to_string(scores->size()) : "none");
    }
    std::vector<Piece> pieces;
    for (size_t id = 0; id < vocab_.size(); ++id) {
      if (types_[id] == kNormal) pieces.push_back({vocab_[id].first, (*scores)[id]});
    }
    return piece_merges(pieces);
  }

  bool flag(std::string_view name, bool otherwise) const {
    return checkpoint_.metadata()[key(name)].as_bool().value_or(otherwise);
  }

  Status read_tokens(const checkpoint::GgufArray& array) {
    const auto tokens = array.strings();
    if (!tokens || tokens->empty()) return damaged("tokens", "strings", "something else");
    types_.assign(tokens->size(), kNormal);
    if (const auto* stored = checkpoint_.gguf_array(key("token_type"))) {
      const auto values = stored->integers();
      if (!values || values->size() != tokens->size()) {
        return damaged("token_type", fmt::format("{} integers", tokens->size()),
                       values ? std::to_string(values->size()) : "other values");
      }
      types_ = *values;
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
      const int64_t type = types_[id];
      if (type == kControl || type == kUserDefined || type == kUnknown) {
        added_.push_back(Json::object({{"id", static_cast<int64_t>(id)},
                                       {"content", token},
                                       {"single_word", false},
                                       {"lstrip", false},
                                       {"rstrip", false},
                                       {"normalized", false},
                                       {"special", type != kUserDefined}}));
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

  // The tokens that begin and end every text, where the file or the kind asks for them.
  Result<Json> post_processor(bool begins, Json otherwise) const {
    const bool first = flag("add_bos_token", begins);
    const bool last = flag("add_eos_token", false);
    if (!first && !last) return otherwise;
    Json::Array single;
    Json::Array pair;
    Json special = Json::object();
    const auto text_of = [](const char* id, int64_t type) {
      return Json::object({{"Sequence", Json::object({{"id", id}, {"type_id", type}})}});
    };
    const auto add = [&](std::string_view name) -> Status {
      TRILITH_ASSIGN_OR_RETURN(const int64_t id, token_id(name));
      const std::string& token = vocab_[static_cast<size_t>(id)].first;
      const Json step =
          Json::object({{"SpecialToken", Json::object({{"id", token}, {"type_id", 0}})}});
      single.push_back(step);
      pair.push_back(step);
      special.set(token, Json::object({{"id", token},
                                       {"ids", Json::array(std::vector<int64_t>{id})},
                                       {"tokens", Json::array(std::vector<std::string>{token})}}));
      return {};
    };
    if (first) TRILITH_RETURN_IF_ERROR(add("bos_token_id"));
    single.push_back(text_of("A", 0));
    pair.push_back(text_of("A", 0));
    pair.push_back(text_of("B", 1));
    if (last) TRILITH_RETURN_IF_ERROR(add("eos_token_id"));
    Json json = Json::object({{"type", "TemplateProcessing"}});
    json.set("single", Json(std::move(single)));
    json.set("pair", Json(std::move(pair)));
    json.set("special_tokens", std::move(special));
    return json;
  }

  Result<int64_t> token_id(std::string_view name) const {
    const auto id = checkpoint_.metadata()[key(name)].as_integer();
    if (!id || *id < 0 || *id >= static_cast<int64_t>(vocab_.size())) {
      return damaged(name, fmt::format("0 to {}", vocab_.size() - 1),
                     id ? std::to_string(*id) : "none");
    }
    return *id;
  }

  const Checkpoint& checkpoint_;
  std::unordered_map<std::string, size_t> ids_;
  Json::Object vocab_;
  std::vector<int64_t> types_;  // by id
  Json::Array added_;
};

}  // namespace

Result<std::optional<Json>> embedded_tokenizer(const Checkpoint& checkpoint) {
  if (!is_gguf(checkpoint)) return std::optional<Json>();
  return Builder(checkpoint).build();
}

Json for_other_readers(const Json& tokenizer) {
  Json model = Json::object();
  for (const auto& [key, value] : *tokenizer["model"].as_object()) {
    if (key != "merge_ranks") model.set(key, value);
  }
  Json json = tokenizer;
  json.set("model", std::move(model));
  return json;
}

}  // namespace trilith::model
