// Byte-pair encoding of one piece: characters are joined pair by pair, the pair with the lowest
// rank first and of equal ranks the leftmost, until no pair is in the merge table. Ranks are the
// order of "merges", or "merge_ranks" beside it, this project's addition: in SentencePiece models
// the score of the result ranks a merge, so that all ways to make one token are equal. With a heap
// over a linked list this takes O(n log n) for a piece of n characters. Immutable after load; a
// BpeRun holds one thread's scratch memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::text {

// (left id, right id) -> merge. Open addressing, at most half full.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };

  void reserve(size_t count);
  void set(int32_t left, int32_t right, Merge merge);  // the last of equal pairs counts
  const Merge* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = slot_of(key);; i = (i + 1) & mask_) {
      if (entries_[i].key == key) return &entries_[i].merge;
      if (entries_[i].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are not negative
  struct Entry {
    uint64_t key = kEmpty;
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15;  // Fibonacci hashing; the high bits are the good ones
    return static_cast<size_t>(key >> 32) & mask_;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(2);
  size_t mask_ = 1;
};

class BpeModel {
 public:
  // `json` is the "model" member.
  static Result<BpeModel> from_json(const Json& json);

  BpeModel(BpeModel&&) = default;
  BpeModel& operator=(BpeModel&&) = default;

  size_t token_count() const { return ids_.size(); }
  // By id; the flag tells a token that is "" from an id without one.
  struct Token {
    std::string text;
    bool present = false;
  };
  const std::vector<Token>& tokens() const { return tokens_; }
  std::optional<int32_t> token_to_id(std::string_view token) const;

 private:
  friend class BpeRun;
  BpeModel() = default;

  Status read_options(const Json& json);
  Status read_vocabulary(const Json& json);
  Status read_byte_fallback(const Json& json);
  Status read_merges(const Json& json);
  Status add_merge(const std::string& left, const std::string& right, size_t rank);

  std::vector<Token> tokens_;
  std::unordered_map<std::string_view, int32_t> ids_;  // into tokens_, which does not change
  std::array<int32_t, 0x200> id_of_character_{};       // -1: none; the byte alphabet and more
  MergeTable merges_;
  std::optional<int32_t> unknown_;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  std::array<int32_t, 256> id_of_byte_{};  // of "<0x00>" …, for byte_fallback_
  bool ignore_merges_ = false;
};

class BpeRun {
 public:
  explicit BpeRun(const BpeModel& model) : model_(&model) {}
  // Appends the ids of `piece`. A character without a token becomes those of its bytes, the unknown
  // token, or nothing, as far as the model has them.
  void encode(std::string_view piece, std::vector<int32_t>& ids);

 private:
  struct Symbol {
    int32_t id;  // kRemoved once joined to the one before
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t position;
    int32_t id;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  static constexpr int32_t kRemoved = -1;

  void push_symbol(int32_t id);
  void split_into_characters(std::string_view piece);
  void push_candidate(int32_t position, int32_t next);
  void merge_all();

  const BpeModel* model_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace trilith::text
