#include "model/format_check.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace trilith::model {
namespace {

using packing::QuantMatrix;
using packing::Scale;
using packing::Zero;

constexpr double kLargestHalf = 65504.0;
constexpr double kLeastHalf = 0x1p-24;

// How often each code occurs. Four tables, so that neighbours with one code do not wait for each
// other's increment.
std::array<uint64_t, 256> histogram(const std::vector<uint8_t>& codes) {
  std::array<std::array<uint64_t, 256>, 4> parts{};
  size_t i = 0;
  for (; i + 4 <= codes.size(); i += 4) {
    for (size_t part = 0; part < 4; ++part) ++parts[part][codes[i + part]];
  }
  for (; i < codes.size(); ++i) ++parts[0][codes[i]];
  for (size_t code = 0; code < 256; ++code) {
    for (size_t part = 1; part < 4; ++part) parts[0][code] += parts[part][code];
  }
  return parts[0];
}

double effective(const Scale& scale, double stored) {
  switch (scale.op) {
    case Scale::Op::kMultiply:
      return stored * scale.factor;
    case Scale::Op::kDivide:
      return 1 / (stored * scale.factor);
    case Scale::Op::kMultiplyPowerOfTwo:
      return std::exp2(stored) * scale.factor;
  }
  return stored;
}

struct Largest {
  double magnitude = 0;
  std::string where;
};

// The largest |w| there can be: the largest level that occurs under the largest scale.
Largest largest_by_scale(const QuantMatrix& matrix, double level) {
  if (matrix.scale.index == Scale::Index::kNone)
    return {level, fmt::format("a level of {}", level)};
  size_t index = 0;
  double scale = 0;
  for (size_t i = 0; i < matrix.scales.size(); ++i) {
    const double value = std::fabs(effective(matrix.scale, static_cast<double>(matrix.scales[i])));
    if (value <= scale) continue;
    scale = value;
    index = i;
  }
  return {level * scale, fmt::format("|w| of {} under scale {}", level * scale, index)};
}

Largest largest_by_value(const QuantMatrix& matrix) {
  const std::vector<float> values = matrix.dense();
  size_t index = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(std::fabs(values[i]) <= std::fabs(values[index]))) index = i;
  }
  const auto flat = static_cast<int64_t>(index);
  return {static_cast<double>(std::fabs(values[index])),
          fmt::format("{} at row {}, column {}", values[index], flat / matrix.cols,
                      flat % matrix.cols)};
}

}  // namespace

Status check_matrix(const QuantMatrix& matrix, const std::string& codes, const std::string& scale) {
  if (matrix.codes.empty()) return {};
  int distinct = 0;
  double level = 0;
  const auto counts = histogram(matrix.codes);
  for (size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] == 0) continue;
    ++distinct;
    double value = code < matrix.levels.size() ? matrix.levels[code].value_or(0) : 0;
    if (matrix.zero.kind == Zero::Kind::kConstant) value -= static_cast<double>(matrix.zero.value);
    level = std::max(level, std::fabs(value));
  }
  if (distinct == 1 && matrix.codes.size() > 1) {
    return Error::damaged("one and the same code stands for every weight")
        .with_tensor(codes)
        .with_found(fmt::format("code {} {} times", matrix.codes[0], matrix.codes.size()))
        .with_hint("the file may have a hole: fetch it again");
  }
  const bool by_scale = matrix.zeros.empty() && matrix.column_scales.empty();
  const Largest largest = by_scale ? largest_by_scale(matrix, level) : largest_by_value(matrix);
  const std::string hint = "the weights are packed in another way, or the scale is another tensor";
  if (!(largest.magnitude <= kLargestHalf)) {
    return Error::damaged("the weights are absurdly large under this format")
        .with_tensor(scale)
        .with_expected(fmt::format("|w| of at most {}", kLargestHalf))
        .with_found(largest.where)
        .with_hint(hint);
  }
  if (largest.magnitude < kLeastHalf) {
    return Error::damaged("the weights vanish under this format")
        .with_tensor(scale)
        .with_expected(fmt::format("a |w| of at least {}", kLeastHalf))
        .with_found(largest.where)
        .with_hint(hint);
  }
  return {};
}

}  // namespace trilith::model
