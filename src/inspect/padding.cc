#include "inspect/padding.h"

#include <algorithm>
#include <cmath>

#include "inspect/reading_evidence.h"

namespace trilith::inspect {
namespace {

// Nats that constant padding is worth at most: one slot a line already decides.
constexpr double kMostPadding = 100;

struct Slots {
  int64_t count = 0;  // beyond the logical width
  bool alike = true;  // all of one code
};

Slots slots_beyond(const packing::PackingSpec& spec, const PackedModule& module) {
  const bool along_k = spec.law.axis == packing::Axis::kK;
  const Fit full = unpadded_shape(spec, *module.stored.at("codes"));
  const int64_t padding = along_k ? full.cols - module.cols : full.rows - module.rows;
  if (padding <= 0) return {};
  const auto matrix = decode_codes(spec, module, full.rows, full.cols);
  if (!matrix.ok()) return {};
  const uint8_t last = matrix->codes.back();
  Slots slots;
  for (int64_t n = along_k ? 0 : module.rows; n < full.rows; ++n) {
    for (int64_t k = along_k ? module.cols : 0; k < full.cols; ++k, ++slots.count) {
      slots.alike = slots.alike && matrix->codes[static_cast<size_t>(n * full.cols + k)] == last;
    }
  }
  return slots;
}

}  // namespace

int64_t cropped_weights(const packing::PackingSpec& spec, const PackedModule& module) {
  if (spec.law.unit != packing::UnitScope::kLine || spec.law.axis == packing::Axis::kFlat ||
      spec.law.bitstream != packing::Bitstream::kNone || !spec.law.sub_planes.empty() ||
      !spec.planes.empty()) {
    return 0;
  }
  const Slots slots = slots_beyond(spec, module);
  return slots.alike ? 0 : slots.count;
}

double padding_nats(const Geometry& geometry, const PackedModule& module) {
  const Slots slots = slots_beyond(geometry.spec, module);
  if (!slots.alike) return 0;
  return std::min(kMostPadding, static_cast<double>(slots.count) * std::log(3.0));
}

}  // namespace trilith::inspect
