// N and K from the shape of the codes tensor.
#include <fmt/format.h>

#include <numeric>

#include "packing/codec.h"
#include "packing/layout.h"

namespace trilith::packing {
namespace {

// Elements of a line of `bytes` bytes, when every slot is taken. −1: no such line.
int64_t elements_of_line(const PackingSpec& spec, const PlaneWidth& plane, int64_t bytes) {
  const Law& law = spec.law;
  const FieldSpan line = field_span(law.line_fields);
  const FieldSpan unit = field_span(law.fields);
  const int64_t word_bytes = law.word_bits / 8;
  int64_t units_bytes = bytes - line.before - line.after;
  if (law.unit == UnitScope::kBlock) {
    const auto planes = plane_bytes(spec, law.block_elements);
    if (!planes.ok()) return -1;
    const int64_t code_bytes = planes_share_units(spec)
                                   ? std::accumulate(planes->begin(), planes->end(), int64_t{0})
                                   : planes->front();
    const int64_t block_bytes = unit.before + code_bytes + unit.after;
    return units_bytes > 0 && units_bytes % block_bytes == 0
               ? units_bytes / block_bytes * law.block_elements
               : -1;
  }
  units_bytes -= unit.before + unit.after;
  if (units_bytes <= 0 || units_bytes % word_bytes != 0) return -1;
  const int64_t words = units_bytes / word_bytes;
  if (law.bitstream != Bitstream::kNone) return words * law.word_bits / plane.width;
  return words * plane.slots;
}

}  // namespace

Result<std::pair<int64_t, int64_t>> logical_shape(const PackingSpec& spec,
                                                  const TensorView& codes) {
  TRILITH_RETURN_IF_ERROR(validate(spec));
  const auto refuse = [&](const char* why) {
    return Error::ambiguous(fmt::format("{}: N and K must come from elsewhere", why))
        .with_tensor(codes.name)
        .with_found(shape_string(codes.shape));
  };
  if (spec.law.axis == Axis::kFlat || !spec.law.tensor_fields.empty()) {
    return refuse("the codes are one flat buffer");
  }
  if (spec.law.tile.kind != TileMap::Kind::kNone) return refuse("the codes lie in tiles");
  TRILITH_RETURN_IF_ERROR(byte_count(codes.dtype, codes.shape));
  Shape shape = codes.shape;
  if (spec.stacked_planes && !shape.empty()) shape.erase(shape.begin());
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) return refuse("the codes are no matrix");
  const bool along_inner = (spec.law.axis == Axis::kK) == (spec.orient == Orientation::kNK);
  const auto element_bytes = static_cast<int64_t>(dtype_size(spec.container));
  const int64_t word_bytes = spec.law.word_bits / 8;
  const int64_t row_bytes = shape[1] * element_bytes;
  const PlaneWidth plane = planes_of(spec).front();
  int64_t outer = shape[0];
  int64_t inner = 0;
  if (along_inner) {
    inner = elements_of_line(spec, plane, row_bytes);
  } else {
    outer = elements_of_line(spec, plane, shape[0] * word_bytes);
    inner = row_bytes % word_bytes == 0 ? row_bytes / word_bytes : -1;
  }
  if (outer < 1 || inner < 1) return refuse("the codes are no whole number of blocks");
  return spec.orient == Orientation::kNK ? std::pair(outer, inner) : std::pair(inner, outer);
}

}  // namespace trilith::packing
