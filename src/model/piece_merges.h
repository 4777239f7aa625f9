// The merges of a SentencePiece BPE vocabulary, which stores a score for each piece and no merges:
// two neighbours join when their concatenation is a piece, the best score first and of equal scores
// the leftmost (sentencepiece, bpe_model.cc). So every way to split a piece into two pieces is a
// merge, and its rank is the place of its result among the scores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace trilith::model {

struct Piece {
  std::string text;
  double score = 0;
};

struct PieceMerges {
  Json::Array merges;          // ["a", "b"], in the order in which transformers writes them
  std::vector<int64_t> ranks;  // of each; those of one score share one
};

// Pieces of ordinary text only: control tokens, bytes and user-defined ones take no part. Refuses
// scores that are no numbers and pieces longer than any trainer makes.
Result<PieceMerges> piece_merges(std::span<const Piece> pieces);

}  // namespace trilith::model
