// Scales, zero points and column groups: how many a matrix has, where they lie (a tensor of their
// own, or fields among the codes), and the way in and out of QuantMatrix. Everything read is
// checked for type, size and finiteness.
#pragma once

#include <cstdint>
#include <span>

#include "packing/codec.h"
#include "packing/layout.h"

namespace trilith::packing {

// Groups of a line: `group` elements each, the last may be shorter; one when group < 1.
constexpr int64_t groups_of(int64_t extent, int64_t group) {
  return group > 0 ? (extent + group - 1) / group : 1;
}

// Order of the scales in a QuantMatrix: `outer` × `inner`, row-major.
struct ScaleGrid {
  int64_t outer = 1;
  int64_t inner = 1;
  int64_t count() const { return outer * inner; }
};
Result<ScaleGrid> scale_grid(const PackingSpec& spec, const Layout& layout, int64_t rows,
                             int64_t cols);

// The same with its filling: what a tensor of scales or zero points holds.
ScaleGrid stored_grid(const Scale& scale, ScaleGrid grid);

// spec.scale as QuantMatrix carries it: the block size and axis of kBlock filled in, two levels
// multiplied out.
Scale matrix_scale(const PackingSpec& spec);

// Whether scales, zeros lie in a tensor under their own role.
bool has_scale_tensor(const PackingSpec& spec);
bool has_zero_tensor(const PackingSpec& spec);

// dtype and shape of the tensors "scale", "scale_table", "scale_scale", "global_scale",
// "column_scale", "zero" and "group_index", as far as the spec has them.
Result<StoredByRole> side_layout(const PackingSpec& spec, const Layout& layout, int64_t rows,
                                 int64_t cols);

// Fills scales, column_scales, zeros and group_index. `tensors` are checked against side_layout;
// `codes` is the tensor that holds the fields.
Status read_side_data(const PackingSpec& spec, const Layout& layout, const TensorsByRole& tensors,
                      const TensorView& codes, QuantMatrix& matrix);
// The inverse; `codes` holds the fields, `stored` the allocated tensors.
Status write_side_data(const PackingSpec& spec, const Layout& layout, const QuantMatrix& matrix,
                       std::span<std::byte> codes, StoredByRole& stored);

// dtype, shape and size of a tensor against what the spec demands.
Status check_tensor(const TensorView& tensor, DType dtype, const Shape& shape);

}  // namespace trilith::packing
