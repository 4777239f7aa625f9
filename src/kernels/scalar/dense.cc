// Dots of dense weights with float activations in the fixed order.
#include "base/half.h"
#include "kernels/scalar/scalar_kernels.h"

namespace trilith::kernels::scalar {
namespace {

template <typename Stored, typename Widen>
void dense(const DenseDot& dot, Widen widen) {
  const auto* weights = static_cast<const Stored*>(dot.weights);
  for (int64_t t = 0; t < dot.tokens; ++t) {
    const float* x = dot.x + t * dot.x_stride;
    for (int64_t n = 0; n < dot.rows; ++n) {
      const Stored* w = weights + n * dot.weight_stride;
      float lanes[kVirtualLanes] = {};
      for (int64_t k = 0; k < dot.cols; k += kVirtualLanes) {
        for (int64_t j = 0; j < kVirtualLanes; ++j) {
          const bool present = k + j < dot.cols;
          const float a = present ? widen(w[k + j]) : 0.0F;
          const float b = present ? x[k + j] : 0.0F;
          lanes[j] = std::fma(a, b, lanes[j]);
        }
      }
      dot.out[t * dot.out_stride + n] = canonical(fold_lanes(lanes));
    }
  }
}

}  // namespace

void dense_f32(const DenseDot& dot) {
  count_call(&scalar_counters, kOpDenseF32);
  dense<float>(dot, [](float w) { return w; });
}

void dense_f16(const DenseDot& dot) {
  count_call(&scalar_counters, kOpDenseF16);
  dense<uint16_t>(dot, f32_from_f16);
}

void dense_bf16(const DenseDot& dot) {
  count_call(&scalar_counters, kOpDenseBf16);
  dense<uint16_t>(dot, f32_from_bf16);
}

}  // namespace trilith::kernels::scalar
