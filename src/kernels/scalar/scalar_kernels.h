// The functions of the scalar set: portable C++, the meaning of every kernel.
#pragma once

#include "kernels/kernel_set.h"
#include "kernels/scalar_math.h"

namespace trilith::kernels::scalar {

void panel2_dot(const PanelDot& dot);
void panel8_dot(const PanelDot& dot);
void scale_a8(const ScaleRows& rows);
void scale_a16(const ScaleRows& rows);
void dense_f32(const DenseDot& dot);
void dense_f16(const DenseDot& dot);
void dense_bf16(const DenseDot& dot);
void rms_norm(const float* x, const float* gain, int64_t n, float eps, float* out);
void quantise_a8(QuantiseRow* row);
void quantise_a16(QuantiseRow* row);
void rope(float* x, int64_t heads, int64_t head_dim, const float* cos, const float* sin);
void silu_mul(const float* gate, const float* up, int64_t n, float* out);
void relu2_mul(const float* gate, const float* up, int64_t n, float* out);
void add(const float* a, const float* b, int64_t n, float* out);
SoftmaxState softmax(float* scores, int64_t n, float scale);
void weighted_sum(const float* weights, int64_t n, const float* rows, int64_t stride, int64_t dim,
                  float* out);

// Folds the 16 virtual lanes: the tree every float reduction ends with.
inline float fold_lanes(float* lanes) {
  for (int width = kVirtualLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

}  // namespace trilith::kernels::scalar
