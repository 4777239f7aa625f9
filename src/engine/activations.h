// ActivationCodes: the tokens of a batch as integers, quantised once for all linears that read
// them. Row t of plane p lies at planes + (t · plane_count + p) · padded: one plane under a8; under
// a16 the high and the low byte of each token beside each other, so that a dot takes them as two
// tokens. Reused between calls; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/mode.h"
#include "engine/parallel.h"

namespace trilith::engine {

struct ActivationCodes {
  Mode mode = Mode::kA8;
  int64_t tokens = 0;
  int64_t cols = 0;
  int64_t padded = 0;  // cols rounded up to whole panel lines
  int64_t plane_count = 1;
  std::vector<int8_t> planes;  // [tokens, plane_count, padded]
  std::vector<float> s;        // [tokens]: code = round(x · s)
  std::vector<float> step;     // [tokens]: x is about code · step
  std::vector<int32_t> sums;   // [tokens, plane_count]: Σ of each plane

  // x is [tokens, cols].
  void quantise(const Worker& worker, Mode how, const float* x, int64_t token_count,
                int64_t col_count);
  int32_t code(int64_t token, int64_t k) const;
};

}  // namespace trilith::engine
