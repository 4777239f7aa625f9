// KernelSet: the arithmetic of the engine as a table of functions, one table an instruction set.
// Every set gives the same bits: integer dots are exact, and a float reduction of n terms always
// runs in 16 virtual lanes (term i in lane i mod 16, fused multiply-add, absent terms of the last
// round of lanes as +0), then the tree l[j] + l[j+8], + l[j+4], + l[j+2], + l[j+1]. NaN results are
// 0x7fc00000. Callers hold a FloatEnvironment.
//
// Plain data and nothing from the standard library: files built with flags of their own include
// this header, and a weak template instance from such a file could be picked for the whole program.
#pragma once

#include <stdint.h>

namespace trilith::kernels {

// Rows of one panel and bytes of one line (docs/KERNELS.md draws both layouts).
constexpr int64_t kPanel2Rows = 64;
constexpr int64_t kPanel8Rows = 16;
constexpr int64_t kLineBytes = 64;
constexpr int64_t kLineColumns = 4;
constexpr int kVirtualLanes = 16;
// Beyond it a 32-bit accumulator of 2-bit codes left in their field (c · 64) could overflow.
constexpr int64_t kMaxPanelColumns = 131072;

enum KernelOp {
  kOpPanel2Dot,
  kOpPanel8Dot,
  kOpScaleA8,
  kOpScaleA16,
  kOpDenseF32,
  kOpDenseF16,
  kOpDenseBf16,
  kOpRmsNorm,
  kOpQuantiseA8,
  kOpQuantiseA16,
  kOpRope,
  kOpSiluMul,
  kOpRelu2Mul,
  kOpAdd,
  kOpSoftmax,
  kOpWeightedSum,
  kOpCount,
};

// How often each function of one set was entered. Written without a bus lock: under several threads
// a count may come out low, but never 0 for a function that ran.
struct KernelCounters {
  uint64_t calls[kOpCount];
};

static inline void count_call(KernelCounters* counters, int op) {
  uint64_t* call = &counters->calls[op];
  __atomic_store_n(call, __atomic_load_n(call, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

// acc[t · acc_stride + p · R + r] = Σ_k code · x[t, k] − subtract[t] for `panel_count` panels of R
// rows: R = 64 for 2-bit codes 0 … 3, R = 16 for int8. x has 4 · lines entries a token.
struct PanelDot {
  const uint8_t* panels;  // 64-byte aligned, panel_count · lines · 64 bytes
  int64_t panel_count;
  int64_t lines;
  const int8_t* x;
  int64_t x_stride;
  int64_t tokens;
  const int32_t* subtract;  // [tokens]
  int32_t* acc;
  int64_t acc_stride;
};

// out[t · out_stride + n] = Σ_k w[n, k] · x[t, k], in the fixed order.
struct DenseDot {
  const void* weights;  // float, or float16 / bfloat16 bits as uint16_t
  int64_t rows;
  int64_t cols;
  int64_t weight_stride;  // elements
  const float* x;
  int64_t x_stride;
  int64_t tokens;
  float* out;
  int64_t out_stride;
};

// From accumulators to outputs: (float(acc) · token_scale) · row_scale[n] (+ bias[n]).
// With 16-bit activations y = 256 · hi + lo + 128 (hi = y >> 8) the accumulator is
// 256 · hi[n] + lo[n] + 128 · row_sums[n], formed exactly in double and rounded once to float.
struct ScaleRows {
  const int32_t* acc;       // a8: the accumulators; a16: those of the high plane
  const int32_t* low;       // a16: those of the low plane
  const int32_t* row_sums;  // a16: Σ_k of the integer weights
  const float* row_scale;
  const float* bias;  // or null
  float token_scale;
  int64_t count;
  float* out;
};

// One token's activations as integers: code = round_half_even(x · s) with
//   a8:  s = 127 / max(absmax, 1e-5), clamped to [−128, 127]
//   a16: s = 32767 / max(absmax, 1e-30), or 1 when all are 0
// A row that is not finite gets codes 0 and a NaN scale, so that its outputs are NaN.
struct QuantiseRow {
  const float* x;
  int64_t count;
  int64_t padded;  // entries from count to padded become 0 in every plane
  int8_t* codes;   // a8: the codes; a16: the high plane, y >> 8
  int8_t* low;     // a16: (y & 255) − 128
  float s;         // out
  float step;      // out: 1 / s, what one code is worth
  int32_t sum;     // out: Σ codes of `codes`
  int32_t low_sum;
};

struct SoftmaxState {
  float maximum;
  float sum;
};

struct KernelSet {
  const char* name;
  KernelCounters* counters;  // of the functions this set brings itself

  void (*panel2_dot)(const PanelDot&);
  void (*panel8_dot)(const PanelDot&);
  void (*scale_a8)(const ScaleRows&);
  void (*scale_a16)(const ScaleRows&);
  void (*dense_f32)(const DenseDot&);
  void (*dense_f16)(const DenseDot&);
  void (*dense_bf16)(const DenseDot&);
  // out = (x · (1 / sqrt(Σx²/n + eps))) · gain
  void (*rms_norm)(const float* x, const float* gain, int64_t n, float eps, float* out);
  void (*quantise_a8)(QuantiseRow*);
  void (*quantise_a16)(QuantiseRow*);
  // Each head in place: (a, b) = (x[i], x[i + d/2]) becomes (a·cos[i] − b·sin[i], b·cos[i] +
  // a·sin[i]).
  void (*rope)(float* x, int64_t heads, int64_t head_dim, const float* cos, const float* sin);
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  // max(gate, 0)² · up
  void (*relu2_mul)(const float* gate, const float* up, int64_t n, float* out);
  void (*add)(const float* a, const float* b, int64_t n, float* out);
  // scores[i] becomes exp(scores[i] · scale − maximum); sum in the fixed order. n > 0.
  SoftmaxState (*softmax)(float* scores, int64_t n, float scale);
  // out[d] = Σ_j weights[j] · rows[j · stride + d], j ascending.
  void (*weighted_sum)(const float* weights, int64_t n, const float* rows, int64_t stride,
                       int64_t dim, float* out);
};

// What each instruction set brings: the whole table, and overrides of a table.
extern KernelCounters scalar_counters;
extern const KernelSet scalar_kernels;
extern KernelCounters avx2_counters;
void override_with_avx2(KernelSet* set);

}  // namespace trilith::kernels
