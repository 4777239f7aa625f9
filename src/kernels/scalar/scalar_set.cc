#include "kernels/scalar/scalar_kernels.h"

namespace trilith::kernels {

KernelCounters scalar_counters;

const KernelSet scalar_kernels = {
    .name = "scalar",
    .counters = &scalar_counters,
    .panel2_dot = scalar::panel2_dot,
    .panel8_dot = scalar::panel8_dot,
    .scale_a8 = scalar::scale_a8,
    .scale_a16 = scalar::scale_a16,
    .dense_f32 = scalar::dense_f32,
    .dense_f16 = scalar::dense_f16,
    .dense_bf16 = scalar::dense_bf16,
    .rms_norm = scalar::rms_norm,
    .quantise_a8 = scalar::quantise_a8,
    .quantise_a16 = scalar::quantise_a16,
    .rope = scalar::rope,
    .silu_mul = scalar::silu_mul,
    .relu2_mul = scalar::relu2_mul,
    .add = scalar::add,
    .softmax = scalar::softmax,
    .weighted_sum = scalar::weighted_sum,
};

}  // namespace trilith::kernels
