// Norm, quantisation, rotary embedding, activations and the two halves of attention with AVX2; the
// meaning is that of scalar/elementwise.cc.
#include "kernels/avx2/vector.h"

namespace trilith::kernels::avx2 {
namespace {

inline __m256 absolute(__m256 x) {
  return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}

// Finite floats order like their bits, so the maximum over int32 is exact and keeps NaN on top.
inline int32_t absolute_maximum_bits(const float* x, int64_t n) {
  __m256i maximum = _mm256_setzero_si256();
  for (int64_t i = 0; i < n; i += kFloats) {
    maximum = _mm256_max_epi32(maximum, _mm256_castps_si256(absolute(load_floats(x, i, n))));
  }
  __m128i four =
      _mm_max_epi32(_mm256_castsi256_si128(maximum), _mm256_extracti128_si256(maximum, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}

constexpr int32_t kInfinityBits = 0x7f800000;

inline float float_of_bits(int32_t bits) {
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
}

inline void zero_bytes(int8_t* bytes, int64_t from, int64_t to) {
  if (bytes != nullptr && to > from) {
    __builtin_memset(bytes + from, 0, static_cast<uint64_t>(to - from));
  }
}

inline void poison(QuantiseRow* row) {
  zero_bytes(row->codes, 0, row->padded);
  zero_bytes(row->low, 0, row->padded);
  row->s = float_of_bits(0x7fc00000);
  row->step = row->s;
  row->sum = 0;
  row->low_sum = 0;
}

inline int32_t sum_of_int32(__m256i v) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}

// The low bytes of eight int32 to `bytes`[i … i + 8), as far as they exist.
inline void store_bytes(int8_t* bytes, int64_t i, int64_t n, __m256i values) {
  const __m256i low_bytes =
      _mm256_shuffle_epi8(values, _mm256_set1_epi32(0x0c080400));  // four bytes in every dword
  const int32_t first = _mm256_extract_epi32(low_bytes, 0);
  const int32_t second = _mm256_extract_epi32(low_bytes, 4);
  const uint64_t eight =
      static_cast<uint64_t>(static_cast<uint32_t>(second)) << 32 | static_cast<uint32_t>(first);
  const int64_t count = n - i < kFloats ? n - i : kFloats;
  if (count == kFloats) {
    __builtin_memcpy(bytes + i, &eight, 8);
  } else {
    __builtin_memcpy(bytes + i, &eight, static_cast<uint64_t>(count));
  }
}

// round_half_even(x · s) within [low, high], as int32. vcvtps2dq rounds as MXCSR says: to even.
inline __m256i codes_of(const float* x, int64_t i, int64_t n, __m256 s, __m256i low, __m256i high) {
  const __m256i rounded = _mm256_cvtps_epi32(_mm256_mul_ps(load_floats(x, i, n), s));
  return _mm256_min_epi32(_mm256_max_epi32(rounded, low), high);
}

void rms_norm(const float* x, const float* gain, int64_t n, float eps, float* out) {
  count_call(&avx2_counters, kOpRmsNorm);
  __m256 low = _mm256_setzero_ps();
  __m256 high = _mm256_setzero_ps();
  for (int64_t i = 0; i < n; i += kVirtualLanes) {
    const __m256 a = load_floats(x, i, n);
    const __m256 b = load_floats(x, i + kFloats, n);
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  const float mean = fold_lanes(_mm256_add_ps(low, high)) / static_cast<float>(n);
  const __m128 root = _mm_sqrt_ss(_mm_set_ss(mean + eps));
  const __m256 inverse = _mm256_set1_ps(1.0F / _mm_cvtss_f32(root));
  for (int64_t i = 0; i < n; i += kFloats) {
    const __m256 value =
        _mm256_mul_ps(_mm256_mul_ps(load_floats(x, i, n), inverse), load_floats(gain, i, n));
    store_floats(out, i, n, canonical(value));
  }
}

void quantise_a8(QuantiseRow* row) {
  count_call(&avx2_counters, kOpQuantiseA8);
  const int32_t maximum_bits = absolute_maximum_bits(row->x, row->count);
  if (maximum_bits >= kInfinityBits) return poison(row);
  const float maximum = float_of_bits(maximum_bits);
  const float s = 127.0F / (maximum > 1e-5F ? maximum : 1e-5F);
  __m256i sum = _mm256_setzero_si256();
  for (int64_t i = 0; i < row->count; i += kFloats) {
    const __m256i codes = codes_of(row->x, i, row->count, _mm256_set1_ps(s),
                                   _mm256_set1_epi32(-128), _mm256_set1_epi32(127));
    sum = _mm256_add_epi32(sum, codes);  // absent elements are 0
    store_bytes(row->codes, i, row->count, codes);
  }
  zero_bytes(row->codes, row->count, row->padded);
  row->s = s;
  row->step = 1.0F / s;
  row->sum = sum_of_int32(sum);
  row->low_sum = 0;
}

void quantise_a16(QuantiseRow* row) {
  count_call(&avx2_counters, kOpQuantiseA16);
  const int32_t maximum_bits = absolute_maximum_bits(row->x, row->count);
  if (maximum_bits >= kInfinityBits) return poison(row);
  const float maximum = float_of_bits(maximum_bits);
  const float s = maximum > 0.0F ? 32767.0F / (maximum > 1e-30F ? maximum : 1e-30F) : 1.0F;
  __m256i sum = _mm256_setzero_si256();
  __m256i low_sum = _mm256_setzero_si256();
  for (int64_t i = 0; i < row->count; i += kFloats) {
    const __m256i codes = codes_of(row->x, i, row->count, _mm256_set1_ps(s),
                                   _mm256_set1_epi32(-32767), _mm256_set1_epi32(32767));
    const __m256i high = _mm256_srai_epi32(codes, 8);
    const __m256i low =
        _mm256_sub_epi32(_mm256_and_si256(codes, _mm256_set1_epi32(255)), _mm256_set1_epi32(128));
    sum = _mm256_add_epi32(sum, high);
    low_sum = _mm256_add_epi32(low_sum, _mm256_and_si256(low, first_elements(row->count - i)));
    store_bytes(row->codes, i, row->count, high);
    store_bytes(row->low, i, row->count, low);
  }
  zero_bytes(row->codes, row->count, row->padded);
  zero_bytes(row->low, row->count, row->padded);
  row->s = s;
  row->step = 1.0F / s;
  row->sum = sum_of_int32(sum);
  row->low_sum = sum_of_int32(low_sum);
}

void rope(float* x, int64_t heads, int64_t head_dim, const float* cos, const float* sin) {
  count_call(&avx2_counters, kOpRope);
  const int64_t half = head_dim / 2;
  for (int64_t h = 0; h < heads; ++h) {
    float* first = x + h * head_dim;
    float* second = first + half;
    for (int64_t i = 0; i < half; i += kFloats) {
      const __m256 a = load_floats(first, i, half);
      const __m256 b = load_floats(second, i, half);
      const __m256 c = load_floats(cos, i, half);
      const __m256 s = load_floats(sin, i, half);
      const __m256 turned_a = _mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s));
      const __m256 turned_b = _mm256_add_ps(_mm256_mul_ps(b, c), _mm256_mul_ps(a, s));
      store_floats(first, i, half, canonical(turned_a));
      store_floats(second, i, half, canonical(turned_b));
    }
  }
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  count_call(&avx2_counters, kOpSiluMul);
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 sign = _mm256_set1_ps(-0.0F);
  for (int64_t i = 0; i < n; i += kFloats) {
    const __m256 g = load_floats(gate, i, n);
    const __m256 silu = _mm256_div_ps(g, _mm256_add_ps(one, exp_f32(_mm256_xor_ps(g, sign))));
    store_floats(out, i, n, canonical(_mm256_mul_ps(silu, load_floats(up, i, n))));
  }
}

void relu2_mul(const float* gate, const float* up, int64_t n, float* out) {
  count_call(&avx2_counters, kOpRelu2Mul);
  for (int64_t i = 0; i < n; i += kFloats) {
    // vmaxps gives its second operand when one is NaN.
    const __m256 positive = _mm256_max_ps(_mm256_setzero_ps(), load_floats(gate, i, n));
    const __m256 value = _mm256_mul_ps(_mm256_mul_ps(positive, positive), load_floats(up, i, n));
    store_floats(out, i, n, canonical(value));
  }
}

void add(const float* a, const float* b, int64_t n, float* out) {
  count_call(&avx2_counters, kOpAdd);
  for (int64_t i = 0; i < n; i += kFloats) {
    store_floats(out, i, n, canonical(_mm256_add_ps(load_floats(a, i, n), load_floats(b, i, n))));
  }
}

SoftmaxState softmax(float* scores, int64_t n, float scale) {
  count_call(&avx2_counters, kOpSoftmax);
  const __m256 lowest = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int32_t>(0xff800000U)));
  const __m256 scales = _mm256_set1_ps(scale);
  __m256 maximum = lowest;
  for (int64_t i = 0; i < n; i += kFloats) {
    const __m256 scaled = _mm256_mul_ps(load_floats(scores, i, n), scales);
    store_floats(scores, i, n, scaled);
    const __m256 present = _mm256_castsi256_ps(first_elements(n - i));
    // vmaxps gives its second operand when one is NaN: NaN scores do not count.
    maximum = _mm256_max_ps(_mm256_blendv_ps(lowest, scaled, present), maximum);
  }
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(maximum), _mm256_extractf128_ps(maximum, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  four = _mm_max_ss(four, _mm_movehdup_ps(four));
  const float largest = _mm_cvtss_f32(four) + 0.0F;
  const __m256 largest8 = _mm256_set1_ps(largest);
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (int64_t i = 0; i < n; i += kVirtualLanes) {
    for (int v = 0; v < 2; ++v) {
      const int64_t at = i + v * kFloats;
      const __m256 present = _mm256_castsi256_ps(first_elements(n - at));
      const __m256 value =
          _mm256_and_ps(exp_f32(_mm256_sub_ps(load_floats(scores, at, n), largest8)), present);
      store_floats(scores, at, n, value);
      sums[v] = _mm256_add_ps(sums[v], value);
    }
  }
  const float sum = fold_lanes(_mm256_add_ps(sums[0], sums[1]));
  return {largest, sum != sum ? float_of_bits(0x7fc00000) : sum};
}

void weighted_sum(const float* weights, int64_t n, const float* rows, int64_t stride, int64_t dim,
                  float* out) {
  count_call(&avx2_counters, kOpWeightedSum);
  constexpr int64_t kWide = 8 * kFloats;  // eight chains hide the latency of fma
  int64_t d = 0;
  for (; d + kWide <= dim; d += kWide) {
    __m256 sums[8];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    for (int64_t j = 0; j < n; ++j) {
      const __m256 w = _mm256_set1_ps(weights[j]);
      const float* row = rows + j * stride + d;
      for (int v = 0; v < 8; ++v) {
        sums[v] = _mm256_fmadd_ps(w, _mm256_loadu_ps(row + v * kFloats), sums[v]);
      }
    }
    for (int v = 0; v < 8; ++v) _mm256_storeu_ps(out + d + v * kFloats, canonical(sums[v]));
  }
  for (; d < dim; d += kFloats) {
    __m256 sum = _mm256_setzero_ps();
    for (int64_t j = 0; j < n; ++j) {
      sum =
          _mm256_fmadd_ps(_mm256_set1_ps(weights[j]), load_floats(rows + j * stride, d, dim), sum);
    }
    store_floats(out, d, dim, canonical(sum));
  }
}

}  // namespace

void override_elementwise(KernelSet* set) {
  set->rms_norm = rms_norm;
  set->quantise_a8 = quantise_a8;
  set->quantise_a16 = quantise_a16;
  set->rope = rope;
  set->silu_mul = silu_mul;
  set->relu2_mul = relu2_mul;
  set->add = add;
  set->softmax = softmax;
  set->weighted_sum = weighted_sum;
}

}  // namespace trilith::kernels::avx2
