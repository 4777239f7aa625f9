#include "support/random_matrix.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/half.h"
#include "packing/codec.h"

namespace trilith::support {
namespace {

using packing::PackingSpec;
using packing::QuantMatrix;
using packing::Scale;
using packing::Zero;

float rounded(DType dtype, float value) {
  if (dtype == DType::kF16) return f32_from_f16(f16_from_f32(value));
  if (dtype == DType::kBF16) return f32_from_bf16(bf16_from_f32(value));
  return value;
}

QuantMatrix without_values(const PackingSpec& spec, int64_t rows, int64_t cols) {
  auto matrix = packing::blank_matrix(spec, rows, cols);
  TRILITH_CHECK(matrix.ok());
  auto& levels = matrix->levels;
  if (spec.code_table.kind == packing::CodeTable::Kind::kTensor) {
    // A skewed table, so that neither order nor sign of the codes is a symmetry.
    for (size_t code = 0; code < levels.size(); ++code) {
      const double position =
          (static_cast<double>(code) + 0.5) / static_cast<double>(levels.size());
      const auto level = static_cast<float>((position - 0.45) * (1 + position));
      levels[code] = static_cast<double>(rounded(spec.code_table.dtype, level));
    }
  }
  return std::move(matrix).value();
}

// Codes: few levels are drawn evenly with zero as often as trained ternary models have it; many
// levels follow a quantised normal distribution.
class CodeDrawer {
 public:
  explicit CodeDrawer(const std::vector<std::optional<double>>& levels) {
    for (size_t code = 0; code < levels.size(); ++code) {
      if (levels[code]) usable_.emplace_back(*levels[code], static_cast<uint8_t>(code));
    }
    TRILITH_CHECK(usable_.size() >= 2);
    std::ranges::sort(usable_);
    middle_ = (usable_.front().first + usable_.back().first) / 2;
    half_ = (usable_.back().first - usable_.front().first) / 2;
  }

  double middle() const { return middle_; }

  uint8_t draw(Random& random) const {
    if (usable_.size() > 4) {
      const double wanted = middle_ + random.normal() * half_ / 2.5;
      const auto above = std::ranges::lower_bound(usable_, std::pair(wanted, uint8_t{0}));
      return above == usable_.end() ? usable_.back().second : above->second;
    }
    constexpr double kZeroShare = 0.35;
    const auto zero = std::ranges::find(usable_, 0.0, &std::pair<double, uint8_t>::first);
    if (zero != usable_.end() && usable_.size() == 3 && random.uniform() < kZeroShare) {
      return zero->second;
    }
    for (;;) {
      const auto pick = static_cast<size_t>(random.below(static_cast<int64_t>(usable_.size())));
      if (usable_.size() == 3 && zero != usable_.end() && usable_[pick].first == 0) continue;
      return usable_[pick].second;
    }
  }

 private:
  std::vector<std::pair<double, uint8_t>> usable_;  // level, code; ordered by level
  double middle_ = 0;
  double half_ = 0;
};

float stored_scale(const Scale& scale, double effective) {
  double stored = effective / scale.factor;
  if (scale.op == Scale::Op::kDivide) stored = 1 / (effective * scale.factor);
  if (scale.op == Scale::Op::kMultiplyPowerOfTwo) stored = std::nearbyint(std::log2(stored));
  return rounded(scale.dtype, static_cast<float>(stored));
}

bool is_affine(Zero::Kind kind) {
  return kind == Zero::Kind::kFloatBias || kind == Zero::Kind::kFloatShift;
}

}  // namespace

Random::Random(uint64_t seed, const std::string& name) : engine_(seed) {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  engine_.seed(hash ^ (seed * 0x9e3779b97f4a7c15ULL));
}

double Random::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

double Random::positive(double spread) {
  const double value = std::max(1 + spread * normal(), 0.2);
  return value / std::sqrt(1 + spread * spread);
}

bool has_random_matrices(const PackingSpec& spec) {
  return spec.law.unit != packing::UnitScope::kTile &&
         spec.scale.index != Scale::Index::kSubBlock && spec.scale.nested_group == 0 &&
         dtype_size(spec.scale.dtype) > 1;
}

QuantMatrix random_matrix(const PackingSpec& spec, int64_t rows, int64_t cols, double rms,
                          Random& random) {
  QuantMatrix matrix = without_values(spec, rows, cols);
  const CodeDrawer drawer(matrix.levels);
  for (uint8_t& code : matrix.codes) code = drawer.draw(random);
  if (!matrix.group_index.empty()) {
    for (size_t k = 0; k < matrix.group_index.size(); ++k) {
      const int64_t group = std::max<int64_t>(spec.scale.group, 1);
      matrix.group_index[k] = static_cast<int32_t>((cols - 1 - static_cast<int64_t>(k)) / group);
    }
  }
  const bool integer_zero = spec.zero.kind == Zero::Kind::kInteger;
  if (integer_zero || spec.zero.kind == Zero::Kind::kFloat) {
    for (float& zero : matrix.zeros) {
      double value = drawer.middle() + (integer_zero ? static_cast<double>(random.below(3)) - 1
                                                     : random.normal() * 0.3);
      if (integer_zero) value = std::nearbyint(std::max(value, 1.0));
      zero = spec.zero.bits > 0 ? static_cast<float>(value)
                                : rounded(spec.zero.dtype, static_cast<float>(value));
    }
  }
  // The levels' own root mean square, zero points taken off.
  double sum = 0;
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < cols; ++k) {
      double level = *matrix.levels[matrix.codes[static_cast<size_t>(n * cols + k)]];
      if (spec.zero.kind == Zero::Kind::kConstant) level -= static_cast<double>(spec.zero.value);
      if (is_affine(spec.zero.kind)) level -= drawer.middle();
      if (!is_affine(spec.zero.kind) && !matrix.zeros.empty()) {
        level -= static_cast<double>(matrix.zeros[static_cast<size_t>(matrix.scale_index(n, k))]);
      }
      sum += level * level;
    }
  }
  const double scale = rms / std::sqrt(sum / static_cast<double>(matrix.codes.size()));
  for (float& column : matrix.column_scales)
    column = stored_scale(spec.scale, random.positive(0.3));
  for (size_t i = 0; i < matrix.scales.size(); ++i) {
    const double effective = scale * random.positive(0.3);
    matrix.scales[i] = stored_scale(spec.scale, effective);
    if (!is_affine(spec.zero.kind)) continue;
    const double shift = drawer.middle() * effective * (1 + 0.05 * random.normal());
    const double sign = spec.zero.kind == Zero::Kind::kFloatBias ? -1 : 1;
    matrix.zeros[i] = rounded(spec.zero.dtype, static_cast<float>(sign * shift));
  }
  return matrix;
}

}  // namespace trilith::support
