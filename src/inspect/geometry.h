// Geometries: the ways codes can lie in stored tensors, as PackingSpecs that still lack a code
// table and a scale. Enumerated from the axes of the packing vocabulary; a family of modules keeps
// those whose sizes give every module a legal shape.
#pragma once

#include <optional>
#include <vector>

#include "inspect/alphabet.h"
#include "inspect/config_sizes.h"
#include "packing/codec.h"
#include "packing/spec.h"

namespace trilith::inspect {

struct Geometry {
  packing::PackingSpec spec;  // unsigned codes, no scale
  Cell cell = Cell::kTwoBits;
  size_t code_tensors = 1;
  bool has_scale = false;  // the scale lies among the codes or in their values
};

// All geometries for code tensors of this dtype. `code_tensors` = 2: a pair of bit planes.
std::vector<Geometry> enumerate_geometries(DType dtype, size_t code_tensors);

// A shape under which the geometry stores exactly a tensor of this shape.
struct Fit {
  int64_t rows = 0;
  int64_t cols = 0;
};
// The legal shapes that fit; where none is known (`shapes` empty) the one the tensor itself gives.
std::vector<Fit> fitting_shapes(const Geometry& geometry, const TensorView& codes,
                                const std::vector<LogicalShape>& shapes);

// The shape when no slot is padding; {0, 0} for tensors that are no matrix.
Fit unpadded_shape(const packing::PackingSpec& spec, const TensorView& codes);

}  // namespace trilith::inspect
