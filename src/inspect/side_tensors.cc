#include "inspect/side_tensors.h"

#include <algorithm>
#include <cmath>

#include "inspect/numbers.h"
#include "packing/words.h"

namespace trilith::inspect {

using packing::PackingSpec;

double typical(const TensorView& tensor) {
  std::vector<double> magnitudes;
  const uint64_t step = tensor.count() / 512 + 1;
  for (uint64_t i = 0; i < tensor.count(); i += step) {
    magnitudes.push_back(std::abs(element_as_double(tensor, i)));
  }
  return median(std::move(magnitudes));
}

bool all_zero(const TensorView& tensor) {
  return std::all_of(tensor.bytes.begin(), tensor.bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

bool all_negative(const TensorView* tensor) {
  for (uint64_t i = 0; i < tensor->count(); ++i) {
    if (!(element_as_double(*tensor, i) < 0)) return false;
  }
  return true;
}

// Column k belongs to group k / g: a column index that says nothing.
static bool is_plain_column_index(const TensorView& tensor, int64_t cols) {
  if (!is_integer(tensor.dtype) || tensor.count() != static_cast<uint64_t>(cols)) return false;
  double before = 0;
  for (uint64_t k = 0; k < tensor.count(); ++k) {
    const double group = element_as_double(tensor, k);
    if (group < before || group > before + 1) return false;
    before = group;
  }
  return true;
}

bool is_column_index(const TensorView& tensor, int64_t cols, int64_t groups) {
  if (!is_integer(tensor.dtype) || dtype_size(tensor.dtype) < 4) return false;
  if (tensor.count() != static_cast<uint64_t>(cols)) return false;
  for (uint64_t k = 0; k < tensor.count(); ++k) {
    const double group = element_as_double(tensor, k);
    if (!(group >= 0 && group < static_cast<double>(groups))) return false;
  }
  return true;
}

bool is_mute(const TensorView& tensor, const PackedModule& module) {
  if (tensor.count() <= 2 || all_zero(tensor)) return true;
  if (tensor.dtype == DType::kU8 && tensor.shape.size() == 1 && !tensor.bytes.empty() &&
      tensor.bytes.front() == std::byte{'{'}) {
    return true;
  }
  return is_plain_column_index(tensor, module.cols);
}

bool is_middle(const PackingSpec& spec, const TensorView* tensor) {
  if (spec.zero.bits == 0 || tensor->bytes.empty()) return false;
  const int64_t middle = (int64_t{1} << (spec.bits - 1)) - (spec.zero.stored_minus_one ? 1 : 0);
  const int slots = static_cast<int>(dtype_size(tensor->dtype)) * 8 / spec.zero.bits;
  const uint64_t first =
      packing::load_word(tensor->bytes.data(), static_cast<int>(dtype_size(tensor->dtype)) * 8,
                         packing::ByteOrder::kLittle);
  for (int slot = 0; slot < slots; ++slot) {
    const uint64_t field = first >> (slot * spec.zero.bits);
    if (static_cast<int64_t>(field & ((uint64_t{1} << spec.zero.bits) - 1)) != middle) return false;
  }
  return true;
}

}  // namespace trilith::inspect
