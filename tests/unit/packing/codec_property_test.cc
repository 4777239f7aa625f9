// decode and encode over random specs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "matrices.h"
#include "packing/codes.h"
#include "packing/layout.h"
#include "random_spec.h"

namespace trilith::packing {
namespace {

using testing::coin;
using testing::hex;
using testing::random_matrix;
using testing::random_spec;
using testing::roll;
using testing::Tensors;

#define RC_ASSERT_OK(result)                                   \
  do {                                                         \
    if (!(result).ok()) RC_FAIL((result).error().to_string()); \
  } while (false)

RC_GTEST_PROP(Codec, DecodeUndoesEncode, ()) {
  const int64_t rows = roll(1, 24);
  const int64_t cols = roll(1, 40);
  const PackingSpec spec = random_spec(rows, cols);
  RC_LOG() << to_json(spec).dump(1) << "\n" << describe(spec) << "\n";
  RC_ASSERT_OK(validate(spec));
  const QuantMatrix matrix = random_matrix(spec, rows, cols);
  auto stored = encode(spec, matrix);
  RC_ASSERT_OK(stored);
  const auto layout = stored_layout(spec, rows, cols);
  RC_ASSERT_OK(layout);
  RC_ASSERT(layout->size() == stored->size());
  for (const auto& [role, tensor] : *stored) {
    RC_ASSERT(layout->at(role).shape == tensor.shape);
    RC_ASSERT(*byte_count(tensor.dtype, tensor.shape) == tensor.bytes.size());
  }
  const Tensors tensors{*stored};
  const auto back = decode(spec, tensors.views(), rows, cols);
  RC_ASSERT_OK(back);
  if (spec.symbol != Symbol::kFloatContainer) {  // there a scale may be lost with its last weight
    RC_ASSERT(back->codes == matrix.codes);
    RC_ASSERT(back->scales == matrix.scales);
    RC_ASSERT(back->column_scales == matrix.column_scales);
    RC_ASSERT(back->zeros == matrix.zeros);
    RC_ASSERT(back->group_index == matrix.group_index);
    RC_ASSERT(back->global_scale == matrix.global_scale);
    RC_ASSERT(back->levels == matrix.levels);
  }
  const std::vector<float> dense = back->dense();
  RC_ASSERT(dense == matrix.dense());
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < cols; ++k) {
      RC_ASSERT(dense[static_cast<size_t>(n * cols + k)] == static_cast<float>(back->value(n, k)));
    }
  }
  const auto again = encode(spec, *back);
  RC_ASSERT_OK(again);
  for (const auto& [role, tensor] : *stored) {
    RC_ASSERT(hex(again->at(role).bytes) == hex(tensor.bytes));
  }
}

RC_GTEST_PROP(Codec, RandomBytesAreAnErrorOrAMatrix, ()) {
  const int64_t rows = roll(1, 24);
  const int64_t cols = roll(1, 40);
  const PackingSpec spec = random_spec(rows, cols);
  auto stored = stored_layout(spec, rows, cols);
  RC_ASSERT_OK(stored);
  for (auto& [role, tensor] : *stored) {
    tensor.bytes.resize(*byte_count(tensor.dtype, tensor.shape));
    for (auto& byte : tensor.bytes) byte = static_cast<std::byte>(roll(0, 255));
  }
  const Tensors tensors{*stored};
  const auto matrix = decode(spec, tensors.views(), rows, cols, {.unused_as_zero = coin()});
  RC_CLASSIFY(matrix.ok(), "decodes");
  if (!matrix.ok()) return;
  const auto again = encode(spec, *matrix);
  RC_ASSERT_OK(again);
  const Tensors tensors_again{*again};
  const auto back = decode(spec, tensors_again.views(), rows, cols, {.unused_as_zero = true});
  RC_ASSERT_OK(back);
  RC_ASSERT(back->codes == matrix->codes);
}

RC_GTEST_PROP(Codec, FastLoopsAgreeWithTheLaw, ()) {
  const int64_t rows = roll(1, 40);
  const int64_t cols = roll(1, 70);
  const PackingSpec spec = random_spec(rows, cols);
  RC_PRE(spec.symbol != Symbol::kFloatContainer);
  const PlaneWidth width = planes_of(spec).front();
  const auto layout = Layout::make(spec, width, rows, cols);
  RC_ASSERT_OK(layout);
  const CodePlane plane{*layout, WordCodes(spec, width.width), spec.law, width, 0};
  std::vector<std::byte> bytes(static_cast<size_t>(layout->total_bytes));
  for (auto& byte : bytes) byte = static_cast<std::byte>(roll(0, 255));
  std::vector<uint8_t> fast(static_cast<size_t>(rows * cols));
  std::vector<uint8_t> slow(fast.size());
  const bool has_fast = extract_codes_fast(plane, bytes, fast);
  RC_CLASSIFY(has_fast, "fast");
  RC_PRE(has_fast);
  extract_codes_by_law(plane, bytes, slow);
  RC_ASSERT(fast == slow);
}

}  // namespace
}  // namespace trilith::packing
