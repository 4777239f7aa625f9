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

float largest_level(const QuantMatrix& matrix) {
  double largest = 0;
  for (const auto& level : matrix.levels) largest = std::max(largest, std::fabs(level.value_or(0)));
  return static_cast<float>(largest);
}

}  // namespace

Status read_float_container(const PackingSpec& spec, const TensorView& values,
                            QuantMatrix& matrix) {
  const std::vector<float> weights = to_floats(values);
  const auto weight = [&](int64_t n, int64_t k) {
    return weights[static_cast<size_t>(stored_index(spec, matrix, n, k))];
  };
  const float largest = largest_level(matrix);
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
  for (float& scale : matrix.scales) scale /= largest;

  matrix.codes.resize(weights.size());
  int64_t strangers = 0;
  std::string first;
  for (int64_t n = 0; n < matrix.rows; ++n) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const float scale = matrix.scales.empty()
                              ? 1.0F
                              : matrix.scales[static_cast<size_t>(matrix.scale_index(n, k))];
      const auto has_value = [&](const std::optional<double>& level) {
        return level && round_to(values.dtype, static_cast<float>(*level) * scale) == weight(n, k);
      };
      // Of a group of zeros alone every level would do: zero itself comes first.
      auto match = std::find_if(matrix.levels.begin(), matrix.levels.end(), has_value);
      if (weight(n, k) == 0) {
        const auto zero = std::find(matrix.levels.begin(), matrix.levels.end(), 0.0);
        if (zero != matrix.levels.end()) match = zero;
      }
      if (match == matrix.levels.end()) {
        if (strangers++ == 0) {
          first = fmt::format("{} beside scale {}, row {}, column {}", weight(n, k), scale, n, k);
        }
        continue;
      }
      matrix.codes[static_cast<size_t>(n * matrix.cols + k)] =
          static_cast<uint8_t>(match - matrix.levels.begin());
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
      const float scale = matrix.scales.empty()
                              ? 1.0F
                              : matrix.scales[static_cast<size_t>(matrix.scale_index(n, k))];
      const float value = round_to(spec.container, static_cast<float>(*level) * scale);
      const auto index = static_cast<size_t>(stored_index(spec, matrix, n, k));
      TRILITH_RETURN_IF_ERROR(
          store_number(spec.container, static_cast<double>(value), values.data() + index * size));
    }
  }
  return {};
}

}  // namespace trilith::packing
