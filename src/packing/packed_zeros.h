// Integer zero points packed several to a word (GPTQ, AWQ, compressed-tensors): a matrix
// [rows, groups], stored as such or transposed, shortened along the rows or along the groups.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/tensor_view.h"
#include "packing/spec.h"

namespace trilith::packing {

struct ScaleGrid;

// `swapped`: stored as [groups, rows]. `grid` is what is stored, with its filling.
Shape packed_zero_shape(const Zero& zero, const ScaleGrid& grid, bool swapped);
// The zero points of `grid` among those of `stored`; `bytes` has the size of that shape. z itself,
// also where z − 1 is stored (modulo 2^bits).
std::vector<float> read_packed_zeros(const Zero& zero, const ScaleGrid& grid,
                                     const ScaleGrid& stored, bool swapped,
                                     std::span<const std::byte> bytes);
// An error when a zero point is no integer below 2^bits.
Status write_packed_zeros(const Zero& zero, const ScaleGrid& grid, const ScaleGrid& stored,
                          bool swapped, std::span<const float> zeros, std::span<std::byte> bytes);

}  // namespace trilith::packing
