// The kinds of scales and zero points there are: every index, group size, layout and storage that
// PackingSpec can say, whatever tensors a file has. Which of them a file's tensors can be is
// side_space.h. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/config_sizes.h"
#include "packing/spec.h"

namespace trilith::inspect {

// Of matrices with that many rows: where `sizes` say that q, k and v joined have as many, a scale a
// segment has their lengths.
std::vector<packing::Scale> scale_indices(int64_t rows, const ConfigSizes& sizes);
// `spec` with every kind of zero point that codes of its width can have.
std::vector<packing::PackingSpec> with_zeros(const packing::PackingSpec& spec);

}  // namespace trilith::inspect
