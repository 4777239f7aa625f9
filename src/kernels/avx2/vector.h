// Shared by the AVX2 files: loads of partial vectors, the reduction tree, exp. Everything but what
// enters the kernels into a set has internal linkage (kernel_set.h says why).
#pragma once

#include <immintrin.h>

#include "kernels/kernel_set.h"

namespace trilith::kernels::avx2 {

// The kernels of one file each; the rest of `set` stays.
void override_panel_dots(KernelSet* set);
void override_dense(KernelSet* set);
void override_elementwise(KernelSet* set);

constexpr int64_t kFloats = 8;  // in a vector

static inline __m256 canonical(__m256 value) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

// The first `count` of eight 32-bit elements; count may be below 0 or above 8.
static inline __m256i first_elements(int64_t count) {
  const int bounded = count > 8 ? 8 : (count < 0 ? 0 : static_cast<int>(count));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(bounded), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Elements [i, i + 8) of x[0 … n); absent ones are 0.
static inline __m256 load_floats(const float* x, int64_t i, int64_t n) {
  if (i + kFloats <= n) return _mm256_loadu_ps(x + i);
  return _mm256_maskload_ps(x + i, first_elements(n - i));
}
static inline void store_floats(float* x, int64_t i, int64_t n, __m256 value) {
  if (i + kFloats <= n) {
    _mm256_storeu_ps(x + i, value);
  } else {
    _mm256_maskstore_ps(x + i, first_elements(n - i), value);
  }
}
static inline __m256i load_int32(const int32_t* x, int64_t i, int64_t n) {
  if (i + kFloats <= n) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
  return _mm256_maskload_epi32(x + i, first_elements(n - i));
}

// The tree over l[0 … 7] once l[j] + l[j + 8] is done; the low element of the result.
static inline float fold_lanes(__m256 lanes) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  const __m128 one = _mm_add_ss(two, _mm_movehdup_ps(two));
  return _mm_cvtss_f32(one);
}

// The same tree for four reductions at once: element i of the result is that of the i-th.
static inline __m128 fold_lanes_of_four(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 ab = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20),
                                  _mm256_permute2f128_ps(a, b, 0x31));  // four lanes each of a | b
  const __m256 cd =
      _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
  const __m256 acbd =
      _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
  const __m256 sums =
      _mm256_add_ps(_mm256_shuffle_ps(acbd, acbd, 0x88), _mm256_shuffle_ps(acbd, acbd, 0xdd));
  // a c a c | b d b d  ->  a b c d
  return _mm_unpacklo_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}

// exp_f32 of scalar_math.h, step by step.
static inline __m256 exp_f32(__m256 x) {
  const __m256 magic = _mm256_set1_ps(12582912.0F);
  const __m256 bounded =
      _mm256_min_ps(_mm256_set1_ps(89.0F), _mm256_max_ps(_mm256_set1_ps(-104.0F), x));
  const __m256 n = _mm256_sub_ps(
      _mm256_add_ps(_mm256_mul_ps(bounded, _mm256_set1_ps(0x1.715476p+0F)), magic), magic);
  __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.62e43p-1F), bounded);
  r = _mm256_fmadd_ps(n, _mm256_set1_ps(0x1.05c61p-29F), r);
  __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(0x1.a01a02p-13F), r, _mm256_set1_ps(0x1.6c16c2p-10F));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.111112p-7F));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.555556p-5F));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.555556p-3F));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0.5F));
  const __m256 p = _mm256_add_ps(_mm256_fmadd_ps(q, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0F));
  const __m256i exponent = _mm256_cvttps_epi32(n);
  const __m256i half = _mm256_srai_epi32(exponent, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(exponent, half), bias), 23);
  const __m256 result =
      _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
  return canonical(_mm256_blendv_ps(result, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}

}  // namespace trilith::kernels::avx2
