#include "text/decoder.h"

#include <fmt/format.h>

#include "text/byte_level.h"
#include "text/json_fields.h"
#include "text/limits.h"

namespace trilith::text {
namespace {

constexpr int64_t kMaxStrip = 256;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// ByteLevel, alone or first in sequences with nothing but Fuse behind it, which has nothing left to
// do there.
Result<bool> is_byte_level(const Json& json, int depth) {
  TRILITH_ASSIGN_OR_RETURN(const std::string* const type, type_of(json, "decoder"));
  if (*type == "ByteLevel") return true;
  if (*type != "Sequence") return false;
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* const items, array_field(json, "decoders"));
  if (items->empty() || depth == kMaxSequenceDepth) {
    return not_implemented("an empty or deeply nested decoder sequence");
  }
  TRILITH_ASSIGN_OR_RETURN(const bool first, is_byte_level(items->front(), depth + 1));
  if (!first) return false;
  for (size_t i = 1; i < items->size(); ++i) {
    TRILITH_ASSIGN_OR_RETURN(const std::string* const next, type_of((*items)[i], "decoder"));
    if (*next != "Fuse") {
      return not_implemented(fmt::format("the decoder '{}' behind ByteLevel", *next));
    }
  }
  return true;
}

}  // namespace

int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  const int high = hex_digit(token[3]);
  const int low = hex_digit(token[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

Result<Decoder> Decoder::from_json(const Json& json) {
  if (json.is_null()) {
    return not_implemented("no decoder (Hugging Face then puts a blank between all tokens)");
  }
  Decoder decoder;
  TRILITH_ASSIGN_OR_RETURN(decoder.byte_level_, is_byte_level(json, 0));
  if (!decoder.byte_level_) TRILITH_RETURN_IF_ERROR(decoder.read_sequence(json));
  return decoder;
}

// The steps in the one order in which each token can be decoded by itself.
Status Decoder::read_sequence(const Json& json) {
  TRILITH_ASSIGN_OR_RETURN(const std::string* const type, type_of(json, "decoder"));
  if (*type != "Sequence") return not_implemented(fmt::format("the decoder '{}'", *type));
  TRILITH_ASSIGN_OR_RETURN(const Json::Array* const items, array_field(json, "decoders"));
  Stage stage = Stage::kReplace;
  bool fused = false;
  for (const Json& item : *items) {
    TRILITH_ASSIGN_OR_RETURN(const std::string* const name, type_of(item, "decoder"));
    Stage own = Stage::kReplace;
    if (*name == "ByteFallback") {
      own = Stage::kByteFallback;
      byte_fallback_ = true;
    } else if (*name == "Fuse") {
      own = Stage::kFuse;
      fused = true;
    } else if (*name == "Strip" && fused) {
      own = Stage::kStrip;
      TRILITH_RETURN_IF_ERROR(read_strip(item));
    } else if (*name == "Replace") {
      TRILITH_ASSIGN_OR_RETURN(const PatternField pattern, pattern_field(item));
      TRILITH_ASSIGN_OR_RETURN(const std::string* const content, string_field(item, "content"));
      if (pattern.is_regex || pattern.text.empty() || content->size() > kMaxInsertedBytes ||
          replacements_.size() == kMaxSteps) {
        return not_implemented("a Replace of this kind in the decoder");
      }
      replacements_.push_back({pattern.text, *content});
    } else {
      return not_implemented(fmt::format("the decoder '{}' at this place", *name));
    }
    if (own < stage || (own == stage && own != Stage::kReplace)) {
      return not_implemented(fmt::format("the decoder '{}' behind another", *name));
    }
    stage = own;
  }
  if (!fused) return not_implemented("a decoder sequence without Fuse or ByteLevel");
  return {};
}

Status Decoder::read_strip(const Json& json) {
  TRILITH_ASSIGN_OR_RETURN(const std::string* const content, string_field(json, "content"));
  const auto start = json["start"].as_integer();
  const auto stop = json["stop"].as_integer();
  if (!start || *start < 0 || *start > kMaxStrip || !stop || *stop != 0 || content->empty()) {
    return not_implemented("a Strip of this kind in the decoder");
  }
  prefix_ = *content;
  prefix_count_ = static_cast<size_t>(*start);
  return {};
}

std::string Decoder::bytes_of(std::string_view token) const {
  if (byte_level_) return from_byte_alphabet(token);
  std::string text(token);
  for (const Replacement& replacement : replacements_) {
    for (size_t at = 0; (at = text.find(replacement.from, at)) != std::string::npos;
         at += replacement.to.size()) {
      text.replace(at, replacement.from.size(), replacement.to);
    }
  }
  if (const int byte = byte_fallback_ ? byte_of_token(text) : -1; byte >= 0) {
    return std::string(1, static_cast<char>(byte));
  }
  return text;
}

std::string Decoder::without_prefix(std::string text) const {
  size_t begin = 0;
  for (size_t i = 0; i < prefix_count_ && text.compare(begin, prefix_.size(), prefix_) == 0; ++i) {
    begin += prefix_.size();
  }
  return begin == 0 ? std::move(text) : text.substr(begin);
}

}  // namespace trilith::text
