#include "kernels/attention.h"

#include <algorithm>

#include "kernels/scalar_math.h"

namespace trilith::kernels {

void attend(const KernelSet& set, const AttentionRow& row, std::vector<float>& scratch) {
  const size_t scores_size = static_cast<size_t>(row.heads * kAttentionBlock);
  scratch.resize(scores_size + static_cast<size_t>(row.head_dim + 2 * row.heads));
  float* scores = scratch.data();
  float* block_out = scores + scores_size;
  float* maxima = block_out + row.head_dim;
  float* sums = maxima + row.heads;
  int64_t end = 0;
  for (int64_t start = row.first; start < row.count; start = end) {
    end = std::min((start / kAttentionBlock + 1) * kAttentionBlock, row.count);
    const int64_t n = end - start;
    set.dense_f32({.weights = row.keys + start * row.kv_stride,
                   .rows = n,
                   .cols = row.head_dim,
                   .weight_stride = row.kv_stride,
                   .x = row.q,
                   .x_stride = row.head_dim,
                   .tokens = row.heads,
                   .out = scores,
                   .out_stride = kAttentionBlock});
    for (int64_t h = 0; h < row.heads; ++h) {
      float* out = row.out + h * row.head_dim;
      float* target = start == row.first ? out : block_out;
      const SoftmaxState block = set.softmax(scores + h * kAttentionBlock, n, row.scale);
      set.weighted_sum(scores + h * kAttentionBlock, n, row.values + start * row.kv_stride,
                       row.kv_stride, row.head_dim, target);
      if (start == row.first) {
        maxima[h] = block.maximum;
        sums[h] = block.sum;
        continue;
      }
      const float maximum = std::max(maxima[h], block.maximum);
      const float keep = exp_f32(maxima[h] - maximum);
      const float gain = exp_f32(block.maximum - maximum);
      maxima[h] = maximum;
      sums[h] = sums[h] * keep + block.sum * gain;
      for (int64_t d = 0; d < row.head_dim; ++d) out[d] = out[d] * keep + block_out[d] * gain;
    }
  }
  for (int64_t h = 0; h < row.heads; ++h) {
    float* out = row.out + h * row.head_dim;
    for (int64_t d = 0; d < row.head_dim; ++d) out[d] = canonical(out[d] / sums[h]);
  }
}

}  // namespace trilith::kernels
