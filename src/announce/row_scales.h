// Scales of matrices that are stored as [N, …]: which of the usual layouts a scale tensor has, from
// its shape.
#pragma once

#include "announce/source.h"

namespace trilith::announce {

// Sets spec.scale.{index, group, dtype} from the shape of `scale`: one number, [N] or [N, 1], or
// [N, K/group]. `said_group` is what the config says, if anything: it must fit. An error otherwise.
Status set_row_scale(packing::PackingSpec& spec, const TensorView& scale, int64_t rows,
                     int64_t cols, std::optional<int64_t> said_group);

// One container element a weight: int8, float8, or codes of fewer bits in a byte each.
packing::PackingSpec plain_bytes(DType container, int bits);
// `bits` wide codes along the rows, low first: words when they fill them, else a dense stream.
packing::PackingSpec row_words(DType container, int bits);

// A microscaling exponent stored as a byte: the scale is 2^(byte − 127).
void set_exponent_scale(packing::PackingSpec& spec, DType stored);

}  // namespace trilith::announce
