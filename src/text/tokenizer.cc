#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/decoder.h"
#include "text/json_fields.h"
#include "text/limits.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace trilith::text {
namespace {

// What decoding needs to know of an id.
struct Output {
  std::string bytes;
  bool special = false;
};

}  // namespace

struct Tokenizer::Impl {
  BpeModel model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  AddedTokens added;
  PostProcessor post_processor;
  Decoder decoder;
  std::vector<Output> outputs;  // by id
  std::unordered_map<std::string, int32_t> added_by_content;
};

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::from_json(const Json& json) {
  if (!json.is_object()) return wrong_type("tokenizer.json", "an object", json);
  if (const Json& version = json["version"]; !version.is_null() && version != Json("1.0")) {
    return not_implemented("the file version " + version.dump());
  }
  // "truncation" and "padding" are about batches; transformers overrides them for every call.
  TRILITH_ASSIGN_OR_RETURN(BpeModel model, BpeModel::from_json(json["model"]));
  TRILITH_ASSIGN_OR_RETURN(Normalizer normalizer, Normalizer::from_json(json["normalizer"]));
  TRILITH_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer,
                           PreTokenizer::from_json(json["pre_tokenizer"]));
  TRILITH_ASSIGN_OR_RETURN(AddedTokens added,
                           AddedTokens::from_json(json["added_tokens"], model, normalizer));
  TRILITH_ASSIGN_OR_RETURN(Decoder decoder, Decoder::from_json(json["decoder"]));

  size_t size = model.tokens().size();
  for (const AddedToken& token : added.tokens()) {
    size = std::max(size, static_cast<size_t>(token.id) + 1);
  }
  if (size == 0) return Error::damaged("the tokenizer has no tokens");
  TRILITH_ASSIGN_OR_RETURN(
      PostProcessor post_processor,
      PostProcessor::from_json(json["post_processor"], static_cast<int32_t>(size)));

  std::vector<std::string_view> forms(size);
  for (size_t id = 0; id < model.tokens().size(); ++id) forms[id] = model.tokens()[id].text;
  std::unordered_map<std::string, int32_t> added_by_content;
  for (const AddedToken& token : added.tokens()) {
    forms[static_cast<size_t>(token.id)] = token.pattern;
    added_by_content.emplace(token.content, token.id);
  }
  std::vector<Output> outputs;
  outputs.reserve(size);
  for (const std::string_view form : forms) {
    outputs.push_back({decoder.bytes_of(form), added.is_special(form)});
  }
  return Tokenizer(std::make_unique<const Impl>(
      Impl{std::move(model), std::move(normalizer), std::move(pre_tokenizer), std::move(added),
           std::move(post_processor), std::move(decoder), std::move(outputs),
           std::move(added_by_content)}));
}

Result<Tokenizer> Tokenizer::from_file(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const Json json, read_json_file(path));
  auto tokenizer = from_json(json);
  if (!tokenizer.ok()) return std::move(tokenizer).error().with_file(path);
  return tokenizer;
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return Error::unsupported("the text is too long to encode at once")
        .with_expected(fmt::format("at most {} bytes", kMaxTextBytes))
        .with_found(fmt::format("{} bytes", text.size()))
        .with_hint("cut it into parts");
  }
  if (const auto offset = first_invalid_utf8(text)) {
    return Error::damaged("the text is not UTF-8")
        .with_offset(*offset)
        .with_hint("convert it to UTF-8 first");
  }
  std::vector<int32_t> ids;
  if (options.add_special_tokens) ids = impl_->post_processor.before;
  PreTokenizerRun pre_tokenizer(impl_->pre_tokenizer);
  BpeRun bpe(impl_->model);
  for (const Segment& raw : impl_->added.split(text, false, options.parse_special)) {
    if (raw.id) {
      ids.push_back(*raw.id);
      continue;
    }
    TRILITH_ASSIGN_OR_RETURN(const std::string normalized,
                             impl_->normalizer.apply(std::string(raw.text)));
    for (const Segment& segment : impl_->added.split(normalized, true, options.parse_special)) {
      if (segment.id) {
        ids.push_back(*segment.id);
        continue;
      }
      TRILITH_ASSIGN_OR_RETURN(const Pieces pieces, pre_tokenizer.cut(std::string(segment.text)));
      size_t begin = 0;
      for (const size_t end : pieces.ends) {
        bpe.encode(std::string_view(pieces.text).substr(begin, end - begin), ids);
        begin = end;
      }
    }
  }
  if (options.add_special_tokens) {
    ids.insert(ids.end(), impl_->post_processor.after.begin(), impl_->post_processor.after.end());
  }
  return ids;
}

Result<std::string> Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_size()) {
      return Error::usage("an id is outside the vocabulary")
          .with_expected(fmt::format("0 to {}", vocab_size() - 1))
          .with_found(fmt::format("{}", id));
    }
    if (!skip_special || !is_special(id)) bytes += token_bytes(id);
  }
  std::string text;
  text.reserve(bytes.size());
  append_lossy_utf8(text, bytes);
  return impl_->decoder.without_prefix(std::move(text));
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(impl_->outputs.size()); }

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto found = impl_->added_by_content.find(std::string(token));
  if (found != impl_->added_by_content.end()) return found->second;
  return impl_->model.token_to_id(token);
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  if (id < 0 || id >= vocab_size()) return {};
  return impl_->outputs[static_cast<size_t>(id)].bytes;
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocab_size() && impl_->outputs[static_cast<size_t>(id)].special;
}

}  // namespace trilith::text
