#include "packing/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "packing/tiles.h"

namespace trilith::packing {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 42;
constexpr int64_t kMaxBytes = int64_t{1} << 46;

Result<int64_t> checked_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxBytes) {
    return Error::damaged("the packed matrix would be absurdly large")
        .with_expected(fmt::format("at most {} bytes", kMaxBytes))
        .with_found(fmt::format("{} × {}", a, b));
  }
  return product;
}

Layout::Lines lines_of(const PackingSpec& spec) {
  if (spec.law.axis == Axis::kFlat) return Layout::Lines::kFlat;
  const bool along_inner = (spec.law.axis == Axis::kK) == (spec.orient == Orientation::kNK);
  return along_inner ? Layout::Lines::kInner : Layout::Lines::kOuter;
}

}  // namespace

std::vector<PlaneWidth> planes_of(const PackingSpec& spec) {
  if (spec.symbol == Symbol::kBitPlanes) {
    return std::vector<PlaneWidth>(spec.planes.size(), PlaneWidth{spec.law.slots, 1});
  }
  std::vector<PlaneWidth> planes;
  for (const int width : spec.law.sub_planes) {
    const size_t index = planes.size();
    const int64_t stride = planes_share_units(spec) ? spec.law.plane_strides[index] : 0;
    planes.push_back({spec.law.word_bits / width, width, stride, static_cast<int>(index)});
  }
  if (planes.empty()) planes.push_back({spec.law.slots, spec.bits});
  return planes;
}

Result<std::vector<int64_t>> plane_bytes(const PackingSpec& spec, int64_t extent) {
  std::vector<int64_t> bytes;
  for (const PlaneWidth& plane : planes_of(spec)) {
    TRILITH_ASSIGN_OR_RETURN(const LineLaw line, LineLaw::make(spec.law, plane.slots, plane.width,
                                                               extent, plane.stride));
    TRILITH_ASSIGN_OR_RETURN(const int64_t size,
                             checked_product(line.unit_words(), spec.law.word_bits / 8));
    bytes.push_back(size);
  }
  return bytes;
}

FieldSpan field_span(std::span<const Field> fields) {
  FieldSpan span;
  bool behind = false;
  for (const Field& field : fields) {
    if (field.kind == FieldKind::kCodes) {
      behind = true;
      continue;
    }
    const int64_t bytes = field.count * static_cast<int64_t>(dtype_size(field.dtype));
    (behind ? span.after : span.before) += bytes;
  }
  return span;
}

int64_t field_offset(std::span<const Field> fields, FieldKind kind, int64_t code_bytes,
                     int64_t high_bytes) {
  int64_t offset = 0;
  for (const Field& field : fields) {
    if (field.kind == kind) return offset;
    offset += field.kind == FieldKind::kCodes ? code_bytes
              : field.kind == FieldKind::kHighBits
                  ? high_bytes
                  : field.count * static_cast<int64_t>(dtype_size(field.dtype));
  }
  return -1;
}

bool shape_agrees(const Shape& expected, const Shape& found) {
  const auto without_ones = [](const Shape& shape) {
    Shape kept;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept),
                 [](int64_t dim) { return dim != 1; });
    return kept;
  };
  const Shape want = without_ones(expected);
  const Shape have = without_ones(found);
  const auto want_count = element_count(want);
  const auto have_count = element_count(have);
  if (!want_count.ok() || !have_count.ok() || *want_count != *have_count) return false;
  if (have.size() <= 1) return true;
  size_t next = 0;
  for (const int64_t dim : want) {
    int64_t product = 1;
    while (next < have.size() && product < dim) product *= have[next++];
    if (product != dim) return false;
  }
  return next == have.size();
}

// One line of bytes in an order that tiles.h knows.
Result<Layout> Layout::of_tiles(const PackingSpec& spec, int64_t rows, int64_t cols) {
  TRILITH_RETURN_IF_ERROR(check_tiles(spec, rows, cols));
  Layout layout;
  layout.kind = Lines::kFlat;
  layout.outer = rows;
  layout.inner = cols;
  layout.lines = 1;
  layout.container = spec.container;
  const int bits = spec.symbol == Symbol::kPair ? 2 : spec.bits;  // a nibble for two trits
  layout.code_bytes = rows * cols * bits / 8;
  TRILITH_ASSIGN_OR_RETURN(layout.law, LineLaw::make(Law{}, 1, 8, layout.code_bytes));
  layout.unit_words = layout.unit_bytes = layout.line_bytes = layout.code_bytes;
  const FieldSpan around = field_span(spec.law.tensor_fields);
  layout.tensor_head = around.before;
  layout.total_bytes = around.before + layout.code_bytes + around.after;
  const auto element_bytes = static_cast<int64_t>(dtype_size(spec.container));
  if (layout.total_bytes % element_bytes != 0) {
    return Error::unsupported("the tiles do not fill whole container elements");
  }
  layout.shape = {layout.total_bytes / element_bytes};
  return layout;
}

Result<Layout> Layout::make(const PackingSpec& spec, const PlaneWidth& plane, int64_t rows,
                            int64_t cols) {
  if (rows < 1 || cols < 1 || rows > kMaxElements / cols) {
    return Error::damaged("the matrix has an impossible shape")
        .with_expected(fmt::format("positive sizes of at most {} elements", kMaxElements))
        .with_found(fmt::format("[{}, {}]", rows, cols));
  }
  Layout layout;
  layout.kind = lines_of(spec);
  layout.outer = spec.orient == Orientation::kNK ? rows : cols;
  layout.inner = spec.orient == Orientation::kNK ? cols : rows;
  layout.word_bytes = spec.law.word_bits / 8;
  if (spec.law.tile.kind != TileMap::Kind::kNone) return of_tiles(spec, rows, cols);
  layout.container = spec.container;
  const bool flat = layout.kind == Lines::kFlat;
  const bool along_outer = layout.kind == Lines::kOuter;
  const int64_t extent = flat ? rows * cols : along_outer ? layout.outer : layout.inner;
  layout.lines = flat ? 1 : along_outer ? layout.inner : layout.outer;
  Law law = spec.law;
  if (law.stride.granule < 0) law.stride.granule = layout.inner;
  TRILITH_ASSIGN_OR_RETURN(layout.law,
                           LineLaw::make(law, plane.slots, plane.width, extent, plane.stride));

  const FieldSpan around = field_span(spec.law.tensor_fields);
  const FieldSpan line = field_span(spec.law.line_fields);
  const FieldSpan unit = field_span(spec.law.fields);
  layout.tensor_head = around.before;
  layout.line_head = line.before;
  layout.unit_head = unit.before;
  TRILITH_ASSIGN_OR_RETURN(layout.code_bytes,
                           checked_product(layout.law.unit_words(), layout.word_bytes));
  layout.unit_words = layout.law.unit_words();
  if (planes_share_units(spec)) {
    TRILITH_ASSIGN_OR_RETURN(const std::vector<int64_t> bytes, plane_bytes(spec, extent));
    layout.code_bytes = bytes.front();
    layout.high_bytes = std::accumulate(bytes.begin() + 1, bytes.end(), int64_t{0});
    const auto before = std::accumulate(bytes.begin(), bytes.begin() + plane.index, int64_t{0});
    layout.words_before = before / layout.word_bytes;
    layout.unit_words = (layout.code_bytes + layout.high_bytes) / layout.word_bytes;
    const bool is_high = plane.index > 0;
    const int64_t at =
        field_offset(spec.law.fields, is_high ? FieldKind::kHighBits : FieldKind::kCodes,
                     layout.code_bytes, layout.high_bytes);
    layout.unit_head =
        at >= 0 ? at + (is_high ? before - layout.code_bytes : 0) : unit.before + before;
  }
  layout.unit_bytes = unit.before + layout.code_bytes + layout.high_bytes + unit.after;
  TRILITH_ASSIGN_OR_RETURN(const int64_t units,
                           checked_product(layout.law.units(), layout.unit_bytes));
  layout.line_bytes = line.before + units + line.after;
  TRILITH_ASSIGN_OR_RETURN(const int64_t bytes, checked_product(layout.lines, layout.line_bytes));
  layout.total_bytes = around.before + bytes + around.after;

  const auto element_bytes = static_cast<int64_t>(dtype_size(spec.container));
  const bool one_dimension = flat || !spec.law.tensor_fields.empty();
  const int64_t row_bytes = one_dimension ? layout.total_bytes
                            : along_outer ? layout.inner * layout.word_bytes
                                          : layout.line_bytes;
  if (row_bytes % element_bytes != 0) {
    return Error::unsupported("the words of a line do not fill whole container elements")
        .with_expected(fmt::format("a multiple of {} bytes", element_bytes))
        .with_found(fmt::format("{} bytes", row_bytes));
  }
  if (one_dimension) {
    layout.shape = {row_bytes / element_bytes};
  } else if (along_outer) {
    layout.shape = {layout.law.units() * layout.unit_words, row_bytes / element_bytes};
  } else {
    layout.shape = {layout.lines, row_bytes / element_bytes};
  }
  return layout;
}

}  // namespace trilith::packing
