// What one full reading of a module says: the figures that the general search adds up.
#pragma once

#include "inspect/hypothesis.h"
#include "inspect/profiles.h"
#include "packing/codec.h"

namespace trilith::inspect {

Result<packing::QuantMatrix> decode_module(const packing::PackingSpec& spec,
                                           const PackedModule& module);

// The codes alone, for a geometry without scales; `rows` and `cols` may reach into the padding.
Result<packing::QuantMatrix> decode_codes(const packing::PackingSpec& spec,
                                          const PackedModule& module, int64_t rows, int64_t cols);

// Scales of the columns, where each has one of its own; else empty.
std::vector<double> column_scales(const packing::QuantMatrix& matrix);

// Energies of rows and columns of the decoded weights. Scales of columns are left out of those of
// columns, all scales out of row_codes. `mean_square` of all weights.
Profiles profile_dense(const packing::QuantMatrix& matrix, const std::vector<float>& dense,
                       double& mean_square);

// rms(W) · √K if the scales divided.
double inverse_gain(const packing::QuantMatrix& matrix);

// Nats that rows and columns differ by in how often codes occur: of every code in turn where there
// are few, else of the rarest third, which are the outer ones. A figure of the law, whatever the
// levels.
double disperse(const packing::QuantMatrix& matrix);

}  // namespace trilith::inspect
