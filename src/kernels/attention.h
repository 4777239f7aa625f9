// Attention of one token: softmax(q·Kᵀ · scale)·V over its keys, for the query heads that share one
// key/value head. Keys are taken in blocks of kAttentionBlock at absolute positions; a block is
// reduced on its own (largest score, sum of exponentials, weighted values) and the blocks are
// folded in order. The result depends on q and the keys alone, not on how the prompt was cut into
// chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel_set.h"

namespace trilith::kernels {

constexpr int64_t kAttentionBlock = 128;

struct AttentionRow {
  const float* q;  // [heads, head_dim]
  int64_t heads;   // query heads of this key/value head
  int64_t head_dim;
  const float* keys;    // row j at keys + j · kv_stride
  const float* values;  // the same
  int64_t kv_stride;
  int64_t first;  // keys [first, count) are attended to, at least one
  int64_t count;
  float scale;
  float* out;  // [heads, head_dim]
};

// `scratch` is resized as needed; one a thread.
void attend(const KernelSet& set, const AttentionRow& row, std::vector<float>& scratch);

}  // namespace trilith::kernels
