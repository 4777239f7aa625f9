#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/utf8.h"
#include "text/json_fields.h"
#include "text/limits.h"

namespace trilith::text {

void MergeTable::reserve(size_t count) {
  size_t slots = 2;
  while (slots < 2 * count) slots *= 2;
  entries_.assign(slots, {});
  mask_ = slots - 1;
}

void MergeTable::set(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t i = slot_of(key);
  while (entries_[i].key != kEmpty && entries_[i].key != key) i = (i + 1) & mask_;
  entries_[i] = {key, merge};
}

Result<BpeModel> BpeModel::from_json(const Json& json) {
  if (!json.is_object()) return wrong_type("model", "an object", json);
  // Files from before the field existed are BPE when they have merges.
  if (!json["type"].is_null() || json["merges"].is_null()) {
    TRILITH_ASSIGN_OR_RETURN(const std::string* const type, type_of(json, "model"));
    if (*type != "BPE") return not_implemented(fmt::format("the model '{}'", *type));
  }
  BpeModel model;
  TRILITH_RETURN_IF_ERROR(model.read_vocabulary(json));
  TRILITH_RETURN_IF_ERROR(model.read_options(json));
  TRILITH_RETURN_IF_ERROR(model.read_merges(json));
  return model;
}

std::optional<int32_t> BpeModel::token_to_id(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

Status BpeModel::read_options(const Json& json) {
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (json[affix].is_null()) continue;
    TRILITH_ASSIGN_OR_RETURN(const std::string* const text, string_field(json, affix));
    if (!text->empty()) return not_implemented(fmt::format("'{}'", affix));
  }
  if (!json["dropout"].is_null()) {
    const auto dropout = json["dropout"].as_number();
    if (!dropout) return wrong_type("dropout", "a number", json["dropout"]);
    if (*dropout != 0) return not_implemented("dropout");
  }
  TRILITH_RETURN_IF_ERROR(read_byte_fallback(json));
  TRILITH_ASSIGN_OR_RETURN(fuse_unknown_, bool_field(json, "fuse_unk", false));
  TRILITH_ASSIGN_OR_RETURN(ignore_merges_, bool_field(json, "ignore_merges", false));
  if (!json["unk_token"].is_null()) {
    TRILITH_ASSIGN_OR_RETURN(const std::string* const unknown, string_field(json, "unk_token"));
    unknown_ = token_to_id(*unknown);
    if (!unknown_) {
      return Error::damaged(
                 fmt::format("the unknown token '{}' is not in the vocabulary", *unknown))
          .with_hint("add it to model.vocab or set unk_token to null");
    }
  }
  return {};
}

Status BpeModel::read_byte_fallback(const Json& json) {
  TRILITH_ASSIGN_OR_RETURN(byte_fallback_, bool_field(json, "byte_fallback", false));
  if (!byte_fallback_) return {};
  for (size_t byte = 0; byte < id_of_byte_.size(); ++byte) {
    const std::string token = fmt::format("<0x{:02X}>", byte);
    const auto id = token_to_id(token);
    if (!id) return not_implemented(fmt::format("byte_fallback without the token {}", token));
    id_of_byte_[byte] = *id;
  }
  return {};
}

Status BpeModel::read_vocabulary(const Json& json) {
  const Json::Object* vocabulary = json["vocab"].as_object();
  if (vocabulary == nullptr) return wrong_type("model.vocab", "an object", json["vocab"]);
  const auto count = static_cast<int64_t>(vocabulary->size());
  int64_t largest = -1;
  for (const auto& [token, value] : *vocabulary) {
    const auto id = value.is_integer() ? value.as_integer() : std::nullopt;
    if (!id || *id < 0) {
      return wrong_type(fmt::format("model.vocab['{}']", token), "an integer, 0 or more", value);
    }
    largest = std::max(largest, *id);
  }
  if (largest >= kMaxTokens || largest + 1 > 2 * count + kMaxHoles) {
    return Error::damaged("the vocabulary has an id far above its number of tokens")
        .with_expected(fmt::format("ids below {}", std::min(kMaxTokens, 2 * count + kMaxHoles)))
        .with_found(fmt::format("id {} among {} tokens", largest, count))
        .with_hint("compare the file with the one its model was published with");
  }
  tokens_.resize(static_cast<size_t>(largest + 1));
  ids_.reserve(vocabulary->size());
  for (const auto& [token, value] : *vocabulary) {
    const auto id = static_cast<size_t>(*value.as_integer());
    if (tokens_[id].present) {
      return Error::damaged(fmt::format("two tokens of the vocabulary have the id {}", id))
          .with_found(fmt::format("'{}' and '{}'", tokens_[id].text, token))
          .with_hint("compare the file with the one its model was published with");
    }
    tokens_[id] = {token, true};
    ids_.emplace(tokens_[id].text, static_cast<int32_t>(id));
  }
  id_of_character_.fill(-1);
  for (uint32_t c = 0; c < id_of_character_.size(); ++c) {
    std::string text;
    append_utf8(text, c);
    id_of_character_[c] = token_to_id(text).value_or(-1);
  }
  return {};
}

Status BpeModel::read_merges(const Json& json) {
  const Json::Array* merges = json["merges"].as_array();
  if (merges == nullptr) return wrong_type("model.merges", "an array", json["merges"]);
  merges_.reserve(merges->size());
  const Json::Array* const ranks = json["merge_ranks"].as_array();
  if (!json["merge_ranks"].is_null() && (ranks == nullptr || ranks->size() != merges->size())) {
    return wrong_type("model.merge_ranks", "an integer for each merge", json["merge_ranks"]);
  }
  size_t number = 0;
  for (const Json& merge : *merges) {
    size_t rank = number;
    if (ranks != nullptr) {
      const auto given = (*ranks)[number].as_integer();
      if (!given || *given < 0 || *given > static_cast<int64_t>(number)) {
        return wrong_type(fmt::format("model.merge_ranks[{}]", number),
                          "an integer, at most its place", (*ranks)[number]);
      }
      rank = static_cast<size_t>(*given);
    }
    if (const std::string* line = merge.as_string()) {
      if (line->starts_with("#version")) continue;
      const size_t space = line->find(' ');
      if (space == std::string::npos || line->find(' ', space + 1) != std::string::npos) {
        return Error::damaged(fmt::format("merge {} is not two tokens with a blank between", rank))
            .with_found(*line);
      }
      TRILITH_RETURN_IF_ERROR(add_merge(line->substr(0, space), line->substr(space + 1), rank));
    } else {
      const Json::Array* pair = merge.as_array();
      if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() ||
          !(*pair)[1].is_string()) {
        return wrong_type(fmt::format("model.merges[{}]", rank), "\"a b\" or [\"a\", \"b\"]",
                          merge);
      }
      TRILITH_RETURN_IF_ERROR(add_merge(*(*pair)[0].as_string(), *(*pair)[1].as_string(), rank));
    }
    ++number;
  }
  return {};
}

Status BpeModel::add_merge(const std::string& left, const std::string& right, size_t rank) {
  const auto left_id = token_to_id(left);
  const auto right_id = token_to_id(right);
  const auto merged_id = token_to_id(left + right);
  if (!left_id || !right_id || !merged_id) {
    const std::string& absent = !left_id ? left : !right_id ? right : left + right;
    return Error::damaged(fmt::format("merge {} needs a token that is not in the vocabulary", rank))
        .with_found(fmt::format("'{}' + '{}', without '{}'", left, right, absent))
        .with_hint("compare the file with the one its model was published with");
  }
  merges_.set(*left_id, *right_id, {static_cast<uint32_t>(rank), *merged_id});
  return {};
}

void BpeRun::encode(std::string_view piece, std::vector<int32_t>& ids) {
  if (piece.empty()) return;
  if (model_->ignore_merges_) {
    if (const auto id = model_->token_to_id(piece)) {
      ids.push_back(*id);
      return;
    }
  }
  split_into_characters(piece);
  merge_all();
  for (const Symbol& symbol : symbols_) {
    if (symbol.id != kRemoved) ids.push_back(symbol.id);
  }
}

void BpeRun::push_symbol(int32_t id) {
  const auto position = static_cast<int32_t>(symbols_.size());
  symbols_.push_back({id, position - 1, position + 1});
}

void BpeRun::split_into_characters(std::string_view piece) {
  symbols_.clear();
  bool after_unknown = false;
  for (size_t offset = 0; offset < piece.size();) {
    const size_t begin = offset;
    const uint32_t c = next_code_point(piece, offset);
    int32_t id = c < model_->id_of_character_.size()
                     ? model_->id_of_character_[c]
                     : model_->token_to_id(piece.substr(begin, offset - begin)).value_or(-1);
    if (id < 0 && model_->byte_fallback_) {
      for (const char byte : piece.substr(begin, offset - begin)) {
        push_symbol(model_->id_of_byte_[static_cast<uint8_t>(byte)]);
      }
      after_unknown = false;
      continue;
    }
    const bool unknown = id < 0;
    if (unknown) {
      if (!model_->unknown_ || (model_->fuse_unknown_ && after_unknown)) continue;
      id = *model_->unknown_;
    }
    after_unknown = unknown;
    push_symbol(id);
  }
  if (!symbols_.empty()) symbols_.back().next = -1;
}

void BpeRun::push_candidate(int32_t position, int32_t next) {
  const MergeTable::Merge* merge = model_->merges_.find(symbols_[static_cast<size_t>(position)].id,
                                                        symbols_[static_cast<size_t>(next)].id);
  if (merge == nullptr) return;
  heap_.push_back({merge->rank, position, merge->id});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void BpeRun::merge_all() {
  heap_.clear();
  for (size_t i = 0; i + 1 < symbols_.size(); ++i) {
    push_candidate(static_cast<int32_t>(i), static_cast<int32_t>(i + 1));
  }
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Candidate top = heap_.back();
    heap_.pop_back();
    Symbol& left = symbols_[static_cast<size_t>(top.position)];
    if (left.id == kRemoved || left.next < 0) continue;
    Symbol& right = symbols_[static_cast<size_t>(left.next)];
    // A candidate is stale when its symbols have changed since, unless the pair that is there now
    // gives the same token (as in Hugging Face's implementation).
    const MergeTable::Merge* merge = model_->merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;
    left.id = top.id;
    left.next = right.next;
    right.id = kRemoved;
    if (left.next >= 0) {
      symbols_[static_cast<size_t>(left.next)].previous = top.position;
      push_candidate(top.position, left.next);
    }
    if (left.previous >= 0) push_candidate(left.previous, top.position);
  }
}

}  // namespace trilith::text
