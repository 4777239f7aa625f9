// Integer dots over panels with AVX2. There is no 8-bit dot here, only vpmaddubsw (u8 · s8, pairs
// added with saturation) into 16 bits. A field is never shifted down: fields 0 and 2 are masked in
// place (2 after one shift by 4), fields 1 and 3 stay four times too large and are shifted once at
// the end, exactly. With codes ≤ 3 and |x| ≤ 128 a pair is at most 768 (fields 0, 2) or 3072
// (fields 1, 3), so vpmaddubsw never saturates and 16-bit sums hold 42 resp. 10 lines; they are
// widened every 32 resp. 8.
#include "kernels/avx2/vector.h"

namespace trilith::kernels::avx2 {
namespace {

constexpr int64_t kShortRun = 8;
constexpr int64_t kLongRun = 32;

inline __m256i load_half(const uint8_t* line, int half) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(line + 32 * half));
}

inline __m256i broadcast4(const int8_t* x) {
  int32_t four;
  __builtin_memcpy(&four, x, 4);
  return _mm256_set1_epi32(four);
}

// acc += codes · y in 16-bit pairs. One block of two instructions: scheduled apart, the products of
// eight accumulators do not fit the registers beside them, and the loop runs at half speed (g++
// 12).
inline void multiply_add(__m256i& acc, __m256i codes, __m256i y) {
  __m256i product;
  __asm__("vpmaddubsw %[y], %[codes], %[product]\n\tvpaddw %[product], %[acc], %[acc]"
          : [acc] "+x"(acc), [product] "=&x"(product)
          : [codes] "x"(codes), [y] "x"(y));
}

inline __m256i widen(__m256i sums16) { return _mm256_madd_epi16(sums16, _mm256_set1_epi16(1)); }

inline void store_field(int32_t* acc, int field, int half, __m256i sums, int32_t subtract) {
  if (field % 2 == 1) sums = _mm256_srai_epi32(sums, 2);
  sums = _mm256_sub_epi32(sums, _mm256_set1_epi32(subtract));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + 16 * field + 8 * half), sums);
}

// One panel, one token: both halves of a line together, eight 16-bit accumulators.
void panel2_one_token(const uint8_t* panel, int64_t lines, const int8_t* x, int32_t subtract,
                      int32_t* acc) {
  const __m256i mask_even = _mm256_set1_epi8(0x03);
  const __m256i mask_odd = _mm256_set1_epi8(0x0c);
  __m256i total[2][4];
  for (auto& half : total) {
    for (__m256i& field : half) field = _mm256_setzero_si256();
  }
  for (int64_t long_run = 0; long_run < lines; long_run += kLongRun) {
    const int64_t long_end = lines < long_run + kLongRun ? lines : long_run + kLongRun;
    __m256i even[2][2];
    for (auto& half : even) half[0] = half[1] = _mm256_setzero_si256();
    for (int64_t run = long_run; run < long_end; run += kShortRun) {
      const int64_t end = long_end < run + kShortRun ? long_end : run + kShortRun;
      __m256i odd[2][2];
      for (auto& half : odd) half[0] = half[1] = _mm256_setzero_si256();
      for (int64_t b = run; b < end; ++b) {
        const __m256i y = broadcast4(x + b * kLineColumns);
        for (int h = 0; h < 2; ++h) {
          const __m256i low = load_half(panel + b * kLineBytes, h);
          const __m256i high = _mm256_srli_epi16(low, 4);
          multiply_add(even[h][0], _mm256_and_si256(low, mask_even), y);
          multiply_add(odd[h][0], _mm256_and_si256(low, mask_odd), y);
          multiply_add(even[h][1], _mm256_and_si256(high, mask_even), y);
          multiply_add(odd[h][1], _mm256_and_si256(high, mask_odd), y);
        }
      }
      for (int h = 0; h < 2; ++h) {
        total[h][1] = _mm256_add_epi32(total[h][1], widen(odd[h][0]));
        total[h][3] = _mm256_add_epi32(total[h][3], widen(odd[h][1]));
      }
    }
    for (int h = 0; h < 2; ++h) {
      total[h][0] = _mm256_add_epi32(total[h][0], widen(even[h][0]));
      total[h][2] = _mm256_add_epi32(total[h][2], widen(even[h][1]));
    }
  }
  for (int h = 0; h < 2; ++h) {
    for (int f = 0; f < 4; ++f) store_field(acc, f, h, total[h][f], subtract);
  }
}

// One panel, `Tokens` tokens: one half of a line and two of its fields at a time, so that 2 ·
// Tokens accumulators stay in registers. kHigh: fields 2 and 3.
template <int Tokens, bool kHigh>
inline void panel2_half(const uint8_t* panel, int64_t lines, const int8_t* x, int64_t x_stride,
                        int half, const int32_t* subtract, int32_t* acc, int64_t acc_stride) {
  const __m256i mask_even = _mm256_set1_epi8(0x03);
  const __m256i mask_odd = _mm256_set1_epi8(0x0c);
  __m256i total_even[Tokens];
  __m256i total_odd[Tokens];
  for (int t = 0; t < Tokens; ++t) total_even[t] = total_odd[t] = _mm256_setzero_si256();
  for (int64_t run = 0; run < lines; run += kShortRun) {
    const int64_t end = lines < run + kShortRun ? lines : run + kShortRun;
    __m256i even[Tokens];
    __m256i odd[Tokens];
    for (int t = 0; t < Tokens; ++t) even[t] = odd[t] = _mm256_setzero_si256();
    for (int64_t b = run; b < end; ++b) {
      __m256i codes = load_half(panel + b * kLineBytes, half);
      if (kHigh) codes = _mm256_srli_epi16(codes, 4);
      const __m256i codes_even = _mm256_and_si256(codes, mask_even);
      const __m256i codes_odd = _mm256_and_si256(codes, mask_odd);
      for (int t = 0; t < Tokens; ++t) {
        const __m256i y = broadcast4(x + t * x_stride + b * kLineColumns);
        multiply_add(even[t], codes_even, y);
        multiply_add(odd[t], codes_odd, y);
      }
    }
    for (int t = 0; t < Tokens; ++t) {
      total_even[t] = _mm256_add_epi32(total_even[t], widen(even[t]));
      total_odd[t] = _mm256_add_epi32(total_odd[t], widen(odd[t]));
    }
  }
  for (int t = 0; t < Tokens; ++t) {
    store_field(acc + t * acc_stride, kHigh ? 2 : 0, half, total_even[t], subtract[t]);
    store_field(acc + t * acc_stride, kHigh ? 3 : 1, half, total_odd[t], subtract[t]);
  }
}

template <int Tokens>
void panel2_tokens(const uint8_t* panel, int64_t lines, const int8_t* x, int64_t x_stride,
                   const int32_t* subtract, int32_t* acc, int64_t acc_stride) {
  for (int half = 0; half < 2; ++half) {
    panel2_half<Tokens, false>(panel, lines, x, x_stride, half, subtract, acc, acc_stride);
    panel2_half<Tokens, true>(panel, lines, x, x_stride, half, subtract, acc, acc_stride);
  }
}

// int8 weights: both sides widened to 16 bits, vpmaddwd into 32 (no saturation: 2 · 128 · 128).
template <int Tokens>
void panel8_tokens(const uint8_t* panel, int64_t lines, const int8_t* x, int64_t x_stride,
                   const int32_t* subtract, int32_t* acc, int64_t acc_stride) {
  __m256i total[Tokens][4];
  for (auto& token : total) {
    for (__m256i& sums : token) sums = _mm256_setzero_si256();
  }
  for (int64_t b = 0; b < lines; ++b) {
    __m256i y[Tokens];
    for (int t = 0; t < Tokens; ++t) {
      y[t] = _mm256_cvtepi8_epi16(
          _mm256_castsi256_si128(broadcast4(x + t * x_stride + b * kLineColumns)));
    }
    for (int quarter = 0; quarter < 4; ++quarter) {
      const __m256i w = _mm256_cvtepi8_epi16(
          _mm_load_si128(reinterpret_cast<const __m128i*>(panel + b * kLineBytes + 16 * quarter)));
      for (int t = 0; t < Tokens; ++t) {
        total[t][quarter] = _mm256_add_epi32(total[t][quarter], _mm256_madd_epi16(w, y[t]));
      }
    }
  }
  for (int t = 0; t < Tokens; ++t) {
    for (int pair = 0; pair < 2; ++pair) {
      // Rows 0 1 4 5 | 2 3 6 7 of the pair after the horizontal add; put in order.
      const __m256i mixed = _mm256_hadd_epi32(total[t][2 * pair], total[t][2 * pair + 1]);
      const __m256i sums =
          _mm256_sub_epi32(_mm256_permute4x64_epi64(mixed, 0xd8), _mm256_set1_epi32(subtract[t]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + t * acc_stride + 8 * pair), sums);
    }
  }
}

void panel2_dot(const PanelDot& dot) {
  count_call(&avx2_counters, kOpPanel2Dot);
  for (int64_t p = 0; p < dot.panel_count; ++p) {
    const uint8_t* panel = dot.panels + p * dot.lines * kLineBytes;
    int32_t* acc = dot.acc + p * kPanel2Rows;
    int64_t t = 0;
    for (; t + 4 <= dot.tokens; t += 4) {
      panel2_tokens<4>(panel, dot.lines, dot.x + t * dot.x_stride, dot.x_stride, dot.subtract + t,
                       acc + t * dot.acc_stride, dot.acc_stride);
    }
    if (t + 2 <= dot.tokens) {
      panel2_tokens<2>(panel, dot.lines, dot.x + t * dot.x_stride, dot.x_stride, dot.subtract + t,
                       acc + t * dot.acc_stride, dot.acc_stride);
      t += 2;
    }
    if (t < dot.tokens) {
      panel2_one_token(panel, dot.lines, dot.x + t * dot.x_stride, dot.subtract[t],
                       acc + t * dot.acc_stride);
    }
  }
}

void panel8_dot(const PanelDot& dot) {
  count_call(&avx2_counters, kOpPanel8Dot);
  for (int64_t p = 0; p < dot.panel_count; ++p) {
    const uint8_t* panel = dot.panels + p * dot.lines * kLineBytes;
    int32_t* acc = dot.acc + p * kPanel8Rows;
    int64_t t = 0;
    for (; t + 2 <= dot.tokens; t += 2) {
      panel8_tokens<2>(panel, dot.lines, dot.x + t * dot.x_stride, dot.x_stride, dot.subtract + t,
                       acc + t * dot.acc_stride, dot.acc_stride);
    }
    if (t < dot.tokens) {
      panel8_tokens<1>(panel, dot.lines, dot.x + t * dot.x_stride, dot.x_stride, dot.subtract + t,
                       acc + t * dot.acc_stride, dot.acc_stride);
    }
  }
}

void scale_a8(const ScaleRows& rows) {
  count_call(&avx2_counters, kOpScaleA8);
  const __m256 token_scale = _mm256_set1_ps(rows.token_scale);
  for (int64_t n = 0; n < rows.count; n += kFloats) {
    const __m256 acc = _mm256_cvtepi32_ps(load_int32(rows.acc, n, rows.count));
    __m256 value =
        _mm256_mul_ps(_mm256_mul_ps(acc, token_scale), load_floats(rows.row_scale, n, rows.count));
    if (rows.bias != nullptr) value = _mm256_add_ps(value, load_floats(rows.bias, n, rows.count));
    store_floats(rows.out, n, rows.count, canonical(value));
  }
}

void scale_a16(const ScaleRows& rows) {
  count_call(&avx2_counters, kOpScaleA16);
  const __m256 token_scale = _mm256_set1_ps(rows.token_scale);
  for (int64_t n = 0; n < rows.count; n += kFloats) {
    const __m256i high = load_int32(rows.acc, n, rows.count);
    const __m256i low = load_int32(rows.low, n, rows.count);
    const __m256i sums = load_int32(rows.row_sums, n, rows.count);
    __m128 quarter[2];
    for (int i = 0; i < 2; ++i) {
      const __m256d h = _mm256_cvtepi32_pd(i == 0 ? _mm256_castsi256_si128(high)
                                                  : _mm256_extracti128_si256(high, 1));
      const __m256d l = _mm256_cvtepi32_pd(i == 0 ? _mm256_castsi256_si128(low)
                                                  : _mm256_extracti128_si256(low, 1));
      const __m256d s = _mm256_cvtepi32_pd(i == 0 ? _mm256_castsi256_si128(sums)
                                                  : _mm256_extracti128_si256(sums, 1));
      // Every term and sum is an integer below 2^53: exact in any order.
      const __m256d acc = _mm256_add_pd(_mm256_mul_pd(h, _mm256_set1_pd(256.0)),
                                        _mm256_add_pd(l, _mm256_mul_pd(s, _mm256_set1_pd(128.0))));
      quarter[i] = _mm256_cvtpd_ps(acc);
    }
    const __m256 acc = _mm256_set_m128(quarter[1], quarter[0]);
    __m256 value =
        _mm256_mul_ps(_mm256_mul_ps(acc, token_scale), load_floats(rows.row_scale, n, rows.count));
    if (rows.bias != nullptr) value = _mm256_add_ps(value, load_floats(rows.bias, n, rows.count));
    store_floats(rows.out, n, rows.count, canonical(value));
  }
}

}  // namespace

void override_panel_dots(KernelSet* set) {
  set->panel2_dot = panel2_dot;
  set->panel8_dot = panel8_dot;
  set->scale_a8 = scale_a8;
  set->scale_a16 = scale_a16;
}

}  // namespace trilith::kernels::avx2
