#include "kernels/avx2/vector.h"

namespace trilith::kernels {

KernelCounters avx2_counters;

void override_with_avx2(KernelSet* set) {
  set->name = "avx2";
  set->counters = &avx2_counters;
  set->panel2_dot = avx2::panel2_dot;
  set->panel8_dot = avx2::panel8_dot;
  set->scale_a8 = avx2::scale_a8;
  set->scale_a16 = avx2::scale_a16;
  set->dense_f32 = avx2::dense_f32;
  set->dense_f16 = avx2::dense_f16;
  set->dense_bf16 = avx2::dense_bf16;
  set->rms_norm = avx2::rms_norm;
  set->quantise_a8 = avx2::quantise_a8;
  set->quantise_a16 = avx2::quantise_a16;
  set->rope = avx2::rope;
  set->silu_mul = avx2::silu_mul;
  set->relu2_mul = avx2::relu2_mul;
  set->add = avx2::add;
  set->softmax = avx2::softmax;
  set->weighted_sum = avx2::weighted_sum;
}

}  // namespace trilith::kernels
