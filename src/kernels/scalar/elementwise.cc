// Norm, quantisation, rotary embedding, activations, and the two halves of attention.
#include "kernels/scalar/scalar_kernels.h"

namespace trilith::kernels::scalar {
namespace {

// The largest |x| as bits (finite floats order like their bits); above every finite one when a
// value is infinite or NaN.
uint32_t absolute_maximum_bits(const float* x, int64_t n) {
  uint32_t maximum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffU;
    maximum = bits > maximum ? bits : maximum;
  }
  return maximum;
}

constexpr uint32_t kInfinityBits = 0x7f800000U;

// Codes 0 and a NaN scale: what a row that is not finite becomes.
void poison(QuantiseRow* row) {
  for (int64_t i = 0; i < row->padded; ++i) row->codes[i] = 0;
  if (row->low != nullptr) {
    for (int64_t i = 0; i < row->padded; ++i) row->low[i] = 0;
  }
  row->s = std::bit_cast<float>(kCanonicalNanBits);
  row->step = row->s;
  row->sum = 0;
  row->low_sum = 0;
}

}  // namespace

void rms_norm(const float* x, const float* gain, int64_t n, float eps, float* out) {
  count_call(&scalar_counters, kOpRmsNorm);
  float lanes[kVirtualLanes] = {};
  for (int64_t i = 0; i < n; i += kVirtualLanes) {
    for (int64_t j = 0; j < kVirtualLanes; ++j) {
      const float value = i + j < n ? x[i + j] : 0.0F;
      lanes[j] = std::fma(value, value, lanes[j]);
    }
  }
  const float mean = fold_lanes(lanes) / static_cast<float>(n);
  const float inverse = 1.0F / std::sqrt(mean + eps);
  for (int64_t i = 0; i < n; ++i) out[i] = canonical((x[i] * inverse) * gain[i]);
}

void quantise_a8(QuantiseRow* row) {
  count_call(&scalar_counters, kOpQuantiseA8);
  const uint32_t maximum_bits = absolute_maximum_bits(row->x, row->count);
  if (maximum_bits >= kInfinityBits) return poison(row);
  const float maximum = std::bit_cast<float>(maximum_bits);
  const float s = 127.0F / (maximum > 1e-5F ? maximum : 1e-5F);
  int32_t sum = 0;
  for (int64_t i = 0; i < row->count; ++i) {
    const float rounded = round_half_even(row->x[i] * s);
    const float low = rounded > -128.0F ? rounded : -128.0F;
    const auto code = static_cast<int8_t>(low < 127.0F ? low : 127.0F);
    row->codes[i] = code;
    sum += code;
  }
  for (int64_t i = row->count; i < row->padded; ++i) row->codes[i] = 0;
  row->s = s;
  row->step = 1.0F / s;
  row->sum = sum;
  row->low_sum = 0;
}

void quantise_a16(QuantiseRow* row) {
  count_call(&scalar_counters, kOpQuantiseA16);
  const uint32_t maximum_bits = absolute_maximum_bits(row->x, row->count);
  if (maximum_bits >= kInfinityBits) return poison(row);
  const float maximum = std::bit_cast<float>(maximum_bits);
  const float s = maximum > 0.0F ? 32767.0F / (maximum > 1e-30F ? maximum : 1e-30F) : 1.0F;
  int32_t sum = 0;
  int32_t low_sum = 0;
  for (int64_t i = 0; i < row->count; ++i) {
    const float rounded = round_half_even(row->x[i] * s);
    const float low = rounded > -32767.0F ? rounded : -32767.0F;
    const auto code = static_cast<int32_t>(low < 32767.0F ? low : 32767.0F);
    const int32_t high_part = code >> 8;
    const int32_t low_part = (code & 255) - 128;
    row->codes[i] = static_cast<int8_t>(high_part);
    row->low[i] = static_cast<int8_t>(low_part);
    sum += high_part;
    low_sum += low_part;
  }
  for (int64_t i = row->count; i < row->padded; ++i) {
    row->codes[i] = 0;
    row->low[i] = 0;
  }
  row->s = s;
  row->step = 1.0F / s;
  row->sum = sum;
  row->low_sum = low_sum;
}

void rope(float* x, int64_t heads, int64_t head_dim, const float* cos, const float* sin) {
  count_call(&scalar_counters, kOpRope);
  const int64_t half = head_dim / 2;
  for (int64_t h = 0; h < heads; ++h) {
    float* first = x + h * head_dim;
    float* second = first + half;
    for (int64_t i = 0; i < half; ++i) {
      const float a = first[i];
      const float b = second[i];
      first[i] = canonical(a * cos[i] - b * sin[i]);
      second[i] = canonical(b * cos[i] + a * sin[i]);
    }
  }
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  count_call(&scalar_counters, kOpSiluMul);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = canonical((gate[i] / (1.0F + exp_f32(-gate[i]))) * up[i]);
  }
}

void relu2_mul(const float* gate, const float* up, int64_t n, float* out) {
  count_call(&scalar_counters, kOpRelu2Mul);
  for (int64_t i = 0; i < n; ++i) {
    const float positive = 0.0F > gate[i] ? 0.0F : gate[i];
    out[i] = canonical((positive * positive) * up[i]);
  }
}

void add(const float* a, const float* b, int64_t n, float* out) {
  count_call(&scalar_counters, kOpAdd);
  for (int64_t i = 0; i < n; ++i) out[i] = canonical(a[i] + b[i]);
}

SoftmaxState softmax(float* scores, int64_t n, float scale) {
  count_call(&scalar_counters, kOpSoftmax);
  float maximum = -std::bit_cast<float>(kInfinityBits);
  for (int64_t i = 0; i < n; ++i) {
    scores[i] *= scale;
    maximum = scores[i] > maximum ? scores[i] : maximum;
  }
  float lanes[kVirtualLanes] = {};
  for (int64_t i = 0; i < n; i += kVirtualLanes) {
    for (int64_t j = 0; j < kVirtualLanes; ++j) {
      float value = 0.0F;
      if (i + j < n) {
        value = exp_f32(scores[i + j] - maximum);
        scores[i + j] = value;
      }
      lanes[j] += value;
    }
  }
  return {maximum + 0.0F, canonical(fold_lanes(lanes))};  // −0 becomes 0
}

void weighted_sum(const float* weights, int64_t n, const float* rows, int64_t stride, int64_t dim,
                  float* out) {
  count_call(&scalar_counters, kOpWeightedSum);
  for (int64_t d = 0; d < dim; ++d) {
    float sum = 0.0F;
    for (int64_t j = 0; j < n; ++j) sum = std::fma(weights[j], rows[j * stride + d], sum);
    out[d] = canonical(sum);
  }
}

}  // namespace trilith::kernels::scalar
