// Checkpoints whose codes lie in the order that a kernel's loops read them: microsoft/BitNet's GPU
// kernel (gpu/pack_weight.py) and T-MAC (python/t_mac/weights.py). Sizes of tiles come from the
// config and the shapes; nothing is guessed.
#pragma once

#include "announce/source.h"

namespace trilith::announce {

// Signed bytes [N, K/4] with four scales beside them, which are how that kernel is told from the
// quarter planes under the same names.
bool is_bitnet_gpu(const Source& source, const std::string& module);

// One scale for the matrix, or one for each of the matrices that were joined along N (w1 and w3; q,
// k and v), filled with zeros to four.
Result<Claim> bitnet_gpu_claim(const Source& source, const std::string& module);

}  // namespace trilith::announce
