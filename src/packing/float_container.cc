#include "packing/float_container.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "packing/numbers.h"

namespace trilith::packing {
namespace {

int64_t stored_index(const PackingSpec& spec, const QuantMatrix& matrix, int64_t n, int64_t k) {
  return spec.orient == Orientation::kNK ? n * matrix.cols + k : k * matrix.rows + n;
}

// 1 without scales.
float scale_of(const QuantMatrix& matrix, int64_t n, int64_t k) {
  if (matrix.scales.empty()) return 1.0F;
  return matrix.scales[static_cast<size_t>(matrix.scale_index(n, k))];
}

}  // namespace

Status read_float_container(const PackingSpec& spec, const TensorView& values,
                            QuantMatrix& matrix) {
  const std::vector<float> weights = to_floats(values);
  const auto weight = [&](int64_t n, int64_t k) {
    return weights[static_cast<size_t>(stored_index(spec, matrix, n, k))];
  };
  for (int64_t n = 0; n < matrix.rows; ++n) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const float magnitude = std::fabs(weight(n, k));
      if (!std::isfinite(magnitude)) {
        return Error::damaged("a weight is not finite")
            .with_tensor(values.name)
            .with_found(fmt::format("{} at row {}, column {}", weight(n, k), n, k));
      }
      if (matrix.scales.empty()) continue;
      float& scale = matrix.scales[static_cast<size_t>(matrix.scale_index(n, k))];
      scale = std::max(scale, magnitude);
    }
  }

  matrix.codes.resize(weights.size());
  const auto& levels = matrix.levels;
  int64_t strangers = 0;
  std::string first;
  for (int64_t n = 0; n < matrix.rows; ++n) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const float value = weight(n, k);
      const float scale = scale_of(matrix, n, k);
      // Where all weights of a scale are 0, the 0 wins over ±s.
      const double level = value == 0 ? 0.0 : value == scale ? 1.0 : value == -scale ? -1.0 : 2.0;
      const auto match = std::find(levels.begin(), levels.end(), level);
      if (match == levels.end() && strangers++ == 0) {
        first = fmt::format("{} beside scale {}, row {}, column {}", value, scale, n, k);
      }
      const auto code = match == levels.end() ? 0 : match - levels.begin();
      matrix.codes[static_cast<size_t>(n * matrix.cols + k)] = static_cast<uint8_t>(code);
    }
  }
  if (strangers == 0) return {};
  return Error::damaged(fmt::format("{} weights are no level times their scale", strangers))
      .with_tensor(values.name)
      .with_expected("only the levels of the code table times one scale")
      .with_found(first);
}

Status write_float_container(const PackingSpec& spec, const QuantMatrix& matrix,
                             std::span<std::byte> values) {
  const size_t size = dtype_size(spec.container);
  for (int64_t n = 0; n < matrix.rows; ++n) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const auto& level = matrix.levels[matrix.codes[static_cast<size_t>(n * matrix.cols + k)]];
      if (!level) {
        return Error::usage("a code without a level cannot become a float")
            .with_found(fmt::format("row {}, column {}", n, k));
      }
      // Zero is stored as +0 whatever the sign of the scale.
      const double value = *level == 0 ? 0.0 : *level * static_cast<double>(scale_of(matrix, n, k));
      const auto index = static_cast<size_t>(stored_index(spec, matrix, n, k));
      TRILITH_RETURN_IF_ERROR(store_number(spec.container, value, values.data() + index * size));
    }
  }
  return {};
}

}  // namespace trilith::packing
