#include "kernels/avx2/vector.h"

namespace trilith::kernels {

KernelCounters avx2_counters;

void override_with_avx2(KernelSet* set) {
  set->name = "avx2";
  set->counters = &avx2_counters;
  avx2::override_panel_dots(set);
  avx2::override_dense(set);
  avx2::override_elementwise(set);
}

}  // namespace trilith::kernels
