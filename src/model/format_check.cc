#include "model/format_check.h"

#include <fmt/format.h>

#include <cmath>

namespace trilith::model {
namespace {

constexpr float kLargestHalf = 65504.0F;
constexpr float kLeastHalf = 0x1p-24F;

std::string place(std::span<const float> values, size_t index, int64_t cols) {
  const auto flat = static_cast<int64_t>(index);
  return fmt::format("{} at row {}, column {}", values[index], flat / cols, flat % cols);
}

}  // namespace

Status check_values(std::span<const float> values, int64_t cols) {
  if (values.empty()) return {};
  size_t largest = 0;
  bool equal = true;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return Error::damaged("a weight is not finite")
          .with_expected("finite values")
          .with_found(place(values, i, cols));
    }
    if (std::fabs(values[i]) > std::fabs(values[largest])) largest = i;
    equal = equal && values[i] == values[0];
  }
  const std::string hint = "the weights are packed in another way, or the scale is another tensor";
  if (std::fabs(values[largest]) > kLargestHalf) {
    return Error::damaged("the weights are absurdly large under this format")
        .with_expected(fmt::format("|w| of at most {}", kLargestHalf))
        .with_found(place(values, largest, cols))
        .with_hint(hint);
  }
  if (equal && values.size() > 1) {
    return Error::damaged("all weights of the matrix are equal under this format")
        .with_found(place(values, 0, cols))
        .with_hint("the file may have a hole: fetch it again");
  }
  if (std::fabs(values[largest]) < kLeastHalf) {
    return Error::damaged("the weights vanish under this format")
        .with_expected(fmt::format("a |w| of at least {}", kLeastHalf))
        .with_found(place(values, largest, cols))
        .with_hint(hint);
  }
  return {};
}

}  // namespace trilith::model
