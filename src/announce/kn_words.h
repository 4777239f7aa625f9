// Matrices stored transposed in words, as GPTQ and AWQ lay them out: qweight, qzeros and scales
// with one row a group of inputs, and optionally the group of each input. Their sizes leave bits
// and group no freedom, so what a config says about them is held against them here.
#pragma once

#include "announce/source.h"

namespace trilith::announce {

// What a config says about a module's quantisation. Overrides for single modules are often written
// as patterns, so every value that occurs anywhere counts as said.
struct SaidScheme {
  std::vector<int64_t> bits;
  std::vector<int64_t> group_sizes;  // −1: a whole row
  std::string where;
};
SaidScheme said_scheme(const Settings& settings);

struct KnSizes {
  int bits = 0;
  int64_t rows = 0;  // N
  int64_t cols = 0;  // K
  int64_t groups = 0;
  int64_t group = 0;  // inputs a group; −1 when there is one group
};

// Words of qweight along the inputs (GPTQ) or along the outputs (AWQ gemm).
enum class WordsAlong { kInputs, kOutputs };

// Takes qweight, qzeros, scales and g_idx into the builder and works out the sizes; an error says
// which tensor contradicts which.
Result<KnSizes> take_kn_tensors(ClaimBuilder& builder, const SaidScheme& said, WordsAlong along);

// The parts of the spec that GPTQ and AWQ share.
packing::PackingSpec kn_spec(const ClaimBuilder& builder, const KnSizes& sizes, WordsAlong along);

// States bits, group and, where it matters, the order of the inputs.
void state_kn(ClaimBuilder& builder, const KnSizes& sizes, const SaidScheme& said);

}  // namespace trilith::announce
