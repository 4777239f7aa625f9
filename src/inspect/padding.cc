#include "inspect/padding.h"

#include <algorithm>
#include <cmath>

#include "inspect/reading_evidence.h"

namespace trilith::inspect {
namespace {

// Nats that constant padding is worth at most: one slot a line already decides.
constexpr double kMostPadding = 100;

}  // namespace

double padding_nats(const Geometry& geometry, const PackedModule& module) {
  const packing::PackingSpec& spec = geometry.spec;
  const bool along_k = spec.law.axis == packing::Axis::kK;
  const Fit full = unpadded_shape(spec, *module.stored.at("codes"));
  const int64_t rows = full.rows;
  const int64_t cols = full.cols;
  const int64_t padding = along_k ? cols - module.cols : rows - module.rows;
  if (padding <= 0) return 0;
  const auto matrix = decode_codes(spec, module, rows, cols);
  if (!matrix.ok()) return 0;
  const size_t last = matrix->codes.size() - 1;
  double slots = 0;
  for (int64_t n = along_k ? 0 : module.rows; n < rows; ++n) {
    for (int64_t k = along_k ? module.cols : 0; k < cols; ++k, ++slots) {
      if (matrix->codes[static_cast<size_t>(n * cols + k)] != matrix->codes[last]) return 0;
    }
  }
  return std::min(kMostPadding, slots * std::log(3.0));
}

}  // namespace trilith::inspect
