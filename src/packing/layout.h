// Layout: where the words and the fields of one stored tensor lie, in bytes, for a given W[N, K].
// The stored matrix is [outer, inner]: W for NK, Wᵀ for KN. Lines run along `inner` (one after the
// other, so that they can hold fields) or along `outer` (one a column, words of neighbouring lines
// beside each other), or there is one line, the flattened matrix.
// All sizes are checked against overflow when it is made. A plain value.
#pragma once

#include <cstdint>
#include <span>

#include "base/tensor_view.h"
#include "packing/law.h"

namespace trilith::packing {

// One plane of a spec: the slots and bits of its words.
struct PlaneWidth {
  int slots = 1;
  int width = 1;       // bits of a slot; trits: 0
  int64_t stride = 0;  // 0: the law's
  int index = 0;
};
// Several for bit planes and sub-planes, lowest bits first.
std::vector<PlaneWidth> planes_of(const PackingSpec& spec);
// Whether the planes are parts of one tensor's units.
inline bool planes_share_units(const PackingSpec& spec) { return !spec.law.plane_strides.empty(); }
// Bytes of the words of each plane in a unit.
Result<std::vector<int64_t>> plane_bytes(const PackingSpec& spec, int64_t extent);

struct Layout {
  enum class Lines { kInner, kOuter, kFlat };

  LineLaw law;
  Lines kind = Lines::kInner;
  int64_t outer = 0, inner = 0;  // of the stored matrix
  int64_t lines = 0;
  int64_t word_bytes = 1;
  // Of contiguous lines (kInner and kFlat).
  int64_t tensor_head = 0, line_head = 0, unit_head = 0;
  int64_t unit_bytes = 0, line_bytes = 0;
  int64_t code_bytes = 0, high_bytes = 0;  // of a unit's first plane and of the others
  // Of a unit in lines beside each other: the words of all planes, and those before this one.
  int64_t unit_words = 0, words_before = 0;
  int64_t total_bytes = 0;
  DType container = DType::kU8;
  Shape shape;  // canonical

  static Result<Layout> make(const PackingSpec& spec, const PlaneWidth& plane, int64_t rows,
                             int64_t cols);

  static Result<Layout> of_tiles(const PackingSpec& spec, int64_t rows, int64_t cols);

  // Byte offset of a word.
  int64_t word_offset(int64_t line, int64_t unit, int64_t word) const {
    if (kind == Lines::kOuter) {
      return tensor_head + ((unit * unit_words + words_before + word) * inner + line) * word_bytes;
    }
    return tensor_head + line * line_bytes + line_head + unit * unit_bytes + unit_head +
           word * word_bytes;
  }
  // Index into the stored matrix, row-major.
  int64_t stored_index(int64_t line, int64_t element) const {
    return kind == Lines::kOuter ? element * inner + line : line * inner + element;
  }
  // The first byte of a unit with its fields, of a line with its fields (contiguous lines).
  int64_t unit_offset(int64_t line, int64_t unit) const {
    return tensor_head + line * line_bytes + line_head + unit * unit_bytes;
  }
  int64_t line_offset(int64_t line) const { return tensor_head + line * line_bytes; }
};

// Bytes of the fields before and after the codes.
struct FieldSpan {
  int64_t before = 0;
  int64_t after = 0;
};
FieldSpan field_span(std::span<const Field> fields);
// Offset of the first field of `kind` when the codes take `code_bytes` and further planes of them
// `high_bytes`; −1: absent.
int64_t field_offset(std::span<const Field> fields, FieldKind kind, int64_t code_bytes,
                     int64_t high_bytes = 0);

// `found` is `expected`, or splits its dimensions further, or is flat, or differs in dimensions
// of 1.
bool shape_agrees(const Shape& expected, const Shape& found);

}  // namespace trilith::packing
