#include "text/post_processor.h"

#include <fmt/format.h>

#include "text/json_fields.h"
#include "text/limits.h"

namespace trilith::text {
namespace {

constexpr size_t kMaxAddedIds = 256;

// The ids a template's special token stands for.
Status append_ids(const Json& json, const std::string& name, int32_t vocab_size,
                  std::vector<int32_t>& ids) {
  const Json* entry = json["special_tokens"].find(name);
  if (entry == nullptr) {
    return Error::damaged(
               fmt::format("the template uses the token '{}', which it does not define", name))
        .with_hint("add it to post_processor.special_tokens");
  }
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* const listed, array_field(*entry, "ids"));
  for (const Json& item : *listed) {
    const auto id = item.is_integer() ? item.as_integer() : std::nullopt;
    if (!id || *id < 0 || *id >= vocab_size) {
      return Error::damaged(
                 fmt::format("the template's token '{}' has an id outside the vocabulary", name))
          .with_expected(fmt::format("0 to {}", vocab_size - 1))
          .with_found(item.dump());
    }
    if (ids.size() == kMaxAddedIds) return not_implemented("a very long template");
    ids.push_back(static_cast<int32_t>(*id));
  }
  return {};
}

Result<PostProcessor> read_template(const Json& json, int32_t vocab_size) {
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* const pieces, array_field(json, "single"));
  PostProcessor processor;
  int sequences = 0;
  for (const Json& piece : *pieces) {
    if (const std::string* sequence = piece["Sequence"]["id"].as_string()) {
      if (*sequence != "A") return not_implemented("a single-text template over a second text");
      ++sequences;
    } else if (const std::string* name = piece["SpecialToken"]["id"].as_string()) {
      TRILITH_RETURN_IF_ERROR(
          append_ids(json, *name, vocab_size, sequences == 0 ? processor.before : processor.after));
    } else {
      return wrong_type("post_processor.single[]", "a Sequence or a SpecialToken", piece);
    }
  }
  if (sequences != 1) return not_implemented("a template that does not hold the text once");
  return processor;
}

Result<PostProcessor> read(const Json& json, int32_t vocab_size, int depth) {
  TRILITH_ASSIGN_OR_RETURN(const std::string* const type, type_of(json, "post_processor"));
  if (*type == "ByteLevel") return PostProcessor{};
  if (*type == "TemplateProcessing") return read_template(json, vocab_size);
  if (*type != "Sequence") return not_implemented(fmt::format("the post-processor '{}'", *type));
  if (depth == kMaxSequenceDepth) return not_implemented("deeply nested post-processor sequences");
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* const items, array_field(json, "processors"));
  PostProcessor all;
  for (const Json& item : *items) {
    TRILITH_ASSIGN_OR_RETURN(const PostProcessor next, read(item, vocab_size, depth + 1));
    all.before.insert(all.before.begin(), next.before.begin(), next.before.end());
    all.after.insert(all.after.end(), next.after.begin(), next.after.end());
    if (all.before.size() + all.after.size() > kMaxAddedIds) {
      return not_implemented("a very long template");
    }
  }
  return all;
}

}  // namespace

Result<PostProcessor> PostProcessor::from_json(const Json& json, int32_t vocab_size) {
  if (json.is_null()) return PostProcessor{};
  return read(json, vocab_size, 0);
}

}  // namespace trilith::text
