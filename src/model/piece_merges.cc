#include "model/piece_merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "base/utf8.h"

namespace trilith::model {
namespace {

// Sixteen characters is what trainers allow unless told otherwise. The bound keeps the splits of a
// hostile file's pieces in proportion to its size.
constexpr size_t kMaxPieceBytes = 256;

struct Merge {
  double score;
  std::string_view left;
  std::string_view right;
  size_t left_length;  // in characters
};

}  // namespace

Result<PieceMerges> piece_merges(std::span<const Piece> pieces) {
  std::unordered_set<std::string_view> known;
  for (const Piece& piece : pieces) {
    if (piece.text.size() > kMaxPieceBytes || std::isnan(piece.score)) {
      return Error::damaged("a piece of the vocabulary cannot be one")
          .with_expected(fmt::format("at most {} bytes and a number as score", kMaxPieceBytes))
          .with_found(fmt::format("{} bytes, score {}", piece.text.size(), piece.score));
    }
    known.insert(piece.text);
  }
  std::vector<Merge> found;
  for (const Piece& piece : pieces) {
    const std::string_view text = piece.text;
    size_t characters = 0;
    for (size_t at = 0; at < text.size();) {
      next_code_point(text, at);
      ++characters;
      if (at == text.size()) break;
      if (!known.contains(text.substr(0, at)) || !known.contains(text.substr(at))) continue;
      found.push_back({piece.score, text.substr(0, at), text.substr(at), characters});
    }
  }
  // transformers sorts by score, then by the length of the left part, both descending.
  std::ranges::stable_sort(found, [](const Merge& a, const Merge& b) {
    return a.score != b.score ? a.score > b.score : a.left_length > b.left_length;
  });
  PieceMerges result;
  for (size_t i = 0; i < found.size(); ++i) {
    Json::Array pair;
    pair.push_back(Json(std::string(found[i].left)));
    pair.push_back(Json(std::string(found[i].right)));
    result.merges.push_back(Json(std::move(pair)));
    const bool same = i > 0 && found[i].score == found[i - 1].score;
    result.ranks.push_back(same ? result.ranks.back() : static_cast<int64_t>(i));
  }
  return result;
}

}  // namespace trilith::model
