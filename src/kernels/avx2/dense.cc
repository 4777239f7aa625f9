// Dots of dense weights with float activations: virtual lanes 0 … 7 and 8 … 15 are two vectors.
// Eight chains hide the latency of fma: four rows of one token, or one row of four tokens.
#include "kernels/avx2/vector.h"

namespace trilith::kernels::avx2 {
namespace {

struct F32 {
  using Stored = float;
  static inline __m256 load8(const float* w) { return _mm256_loadu_ps(w); }
};
struct F16 {
  using Stored = uint16_t;
  static inline __m256 load8(const uint16_t* w) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
  }
};
struct Bf16 {
  using Stored = uint16_t;
  static inline __m256 load8(const uint16_t* w) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
};

// Rows × Tokens dots, with 2 · Rows · Tokens accumulators; result[r · Tokens + t] still unfolded
// beyond its first step.
template <typename Format, int Rows, int Tokens>
inline void dots(const typename Format::Stored* w, int64_t w_stride, const float* x,
                 int64_t x_stride, int64_t cols, __m256* result) {
  using Stored = typename Format::Stored;
  __m256 low[Rows * Tokens];
  __m256 high[Rows * Tokens];
  for (int i = 0; i < Rows * Tokens; ++i) low[i] = high[i] = _mm256_setzero_ps();
  int64_t k = 0;
  for (; k + kVirtualLanes <= cols; k += kVirtualLanes) {
    for (int r = 0; r < Rows; ++r) {
      const __m256 w_low = Format::load8(w + r * w_stride + k);
      const __m256 w_high = Format::load8(w + r * w_stride + k + kFloats);
      for (int t = 0; t < Tokens; ++t) {
        const float* y = x + t * x_stride + k;
        const int i = r * Tokens + t;
        low[i] = _mm256_fmadd_ps(w_low, _mm256_loadu_ps(y), low[i]);
        high[i] = _mm256_fmadd_ps(w_high, _mm256_loadu_ps(y + kFloats), high[i]);
      }
    }
  }
  if (k < cols) {
    for (int r = 0; r < Rows; ++r) {
      alignas(32) Stored padded[kVirtualLanes] = {};
      __builtin_memcpy(padded, w + r * w_stride + k,
                       static_cast<uint64_t>(cols - k) * sizeof(Stored));
      const __m256 w_low = Format::load8(padded);
      const __m256 w_high = Format::load8(padded + kFloats);
      for (int t = 0; t < Tokens; ++t) {
        const float* y = x + t * x_stride;
        const int i = r * Tokens + t;
        low[i] = _mm256_fmadd_ps(w_low, load_floats(y, k, cols), low[i]);
        high[i] = _mm256_fmadd_ps(w_high, load_floats(y, k + kFloats, cols), high[i]);
      }
    }
  }
  for (int i = 0; i < Rows * Tokens; ++i) result[i] = _mm256_add_ps(low[i], high[i]);
}

inline float canonical_float(float value) { return value != value ? __builtin_nanf("") : value; }

inline __m128 canonical4(__m128 value) {
  const __m128 nan = _mm_castsi128_ps(_mm_set1_epi32(0x7fc00000));
  return _mm_blendv_ps(value, nan, _mm_cmpunord_ps(value, value));
}

template <typename Format>
inline void dense(const DenseDot& dot) {
  const auto* weights = static_cast<const typename Format::Stored*>(dot.weights);
  int64_t t = 0;
  for (; t + 4 <= dot.tokens; t += 4) {
    const float* x = dot.x + t * dot.x_stride;
    for (int64_t n = 0; n < dot.rows; ++n) {
      __m256 sums[4];
      dots<Format, 1, 4>(weights + n * dot.weight_stride, dot.weight_stride, x, dot.x_stride,
                         dot.cols, sums);
      alignas(16) float four[4];
      _mm_store_ps(four, canonical4(fold_lanes_of_four(sums[0], sums[1], sums[2], sums[3])));
      for (int i = 0; i < 4; ++i) dot.out[(t + i) * dot.out_stride + n] = four[i];
    }
  }
  for (; t < dot.tokens; ++t) {
    const float* x = dot.x + t * dot.x_stride;
    float* out = dot.out + t * dot.out_stride;
    int64_t n = 0;
    for (; n + 4 <= dot.rows; n += 4) {
      __m256 sums[4];
      dots<Format, 4, 1>(weights + n * dot.weight_stride, dot.weight_stride, x, dot.x_stride,
                         dot.cols, sums);
      _mm_storeu_ps(out + n, canonical4(fold_lanes_of_four(sums[0], sums[1], sums[2], sums[3])));
    }
    for (; n < dot.rows; ++n) {
      __m256 sum[1];
      dots<Format, 1, 1>(weights + n * dot.weight_stride, dot.weight_stride, x, dot.x_stride,
                         dot.cols, sum);
      out[n] = canonical_float(fold_lanes(sum[0]));
    }
  }
}

void dense_f32(const DenseDot& dot) {
  count_call(&avx2_counters, kOpDenseF32);
  dense<F32>(dot);
}

void dense_f16(const DenseDot& dot) {
  count_call(&avx2_counters, kOpDenseF16);
  dense<F16>(dot);
}

void dense_bf16(const DenseDot& dot) {
  count_call(&avx2_counters, kOpDenseBf16);
  dense<Bf16>(dot);
}

}  // namespace

void override_dense(KernelSet* set) {
  set->dense_f32 = dense_f32;
  set->dense_f16 = dense_f16;
  set->dense_bf16 = dense_bf16;
}

}  // namespace trilith::kernels::avx2
