#include "packing/quant_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/byte_counts.h"
#include "packing/numbers.h"
#include "packing/side_data.h"

namespace trilith::packing {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

// Whether scale_index(n, k) is a term of the row plus a term of the column.
bool is_separable(const Scale& scale) {
  switch (scale.index) {
    case Scale::Index::kFlatBlock:
    case Scale::Index::kModulo:
      return false;
    case Scale::Index::kBlock:
      return scale.segment_axis != Axis::kFlat;
    default:
      return true;
  }
}

double weight(const QuantMatrix& matrix, double level, int64_t index, int64_t k) {
  const auto kind = matrix.zero.kind;
  if (kind == Zero::Kind::kConstant) level -= static_cast<double>(matrix.zero.value);
  if (kind == Zero::Kind::kInteger || kind == Zero::Kind::kFloat) {
    level -= static_cast<double>(matrix.zeros[at(index)]);
  }
  double value = level;
  if (matrix.scale.index != Scale::Index::kNone) {
    double scale = static_cast<double>(matrix.scales[at(index)]);
    if (matrix.scale.index == Scale::Index::kRankOne) {
      scale *= static_cast<double>(matrix.column_scales[at(k)]);
    }
    if (matrix.scale.global == Scale::Global::kMultiply) {
      scale *= static_cast<double>(matrix.global_scale);
    } else if (matrix.scale.global == Scale::Global::kDivide) {
      scale /= static_cast<double>(matrix.global_scale);
    }
    switch (matrix.scale.op) {
      case Scale::Op::kMultiply:
        value = level * scale * matrix.scale.factor;
        break;
      case Scale::Op::kDivide:
        value = level / (scale * matrix.scale.factor);
        break;
      case Scale::Op::kMultiplyPowerOfTwo:
        value = level * exp2_portable(scale) * matrix.scale.factor;
        break;
    }
  }
  if (kind == Zero::Kind::kFloatBias) value += static_cast<double>(matrix.zeros[at(index)]);
  if (kind == Zero::Kind::kFloatShift) value -= static_cast<double>(matrix.zeros[at(index)]);
  return value;
}

}  // namespace

int64_t QuantMatrix::scale_index(int64_t n, int64_t k) const {
  const int64_t g = scale.group;
  switch (scale.index) {
    case Scale::Index::kNone:
    case Scale::Index::kTensor:
    case Scale::Index::kSubBlock:
      return 0;
    case Scale::Index::kRow:
    case Scale::Index::kRankOne:
      return n;
    case Scale::Index::kColumn:
      return k;
    case Scale::Index::kRowGroup:
      if (!group_index.empty()) return n * groups_of(cols, g) + group_index[at(k)];
      return g > 0 ? n * groups_of(cols, g) + k / g : n;
    case Scale::Index::kBlock:
      if (scale.segment_axis == Axis::kFlat) return (n * cols + k) / g;
      if (scale.segment_axis == Axis::kN) return k * groups_of(rows, g) + n / g;
      return n * groups_of(cols, g) + k / g;
    case Scale::Index::kFlatBlock:
      return (n * cols + k) / g;
    case Scale::Index::kModulo:
      return (n * cols + k) % (rows * cols / g);
    case Scale::Index::kSegment: {
      int64_t place = scale.segment_axis == Axis::kN ? n : k;
      if (scale.segment_lengths.empty()) {
        return place / ((scale.segment_axis == Axis::kN ? rows : cols) / scale.segments);
      }
      int64_t segment = 0;
      while (segment + 1 < scale.segments && place >= scale.segment_lengths[at(segment)]) {
        place -= scale.segment_lengths[at(segment++)];
      }
      return segment;
    }
  }
  return 0;
}

double QuantMatrix::scale_at(int64_t n, int64_t k) const {
  QuantMatrix plain;  // weight() of level 1 without zero points
  plain.scale = scale;
  plain.global_scale = global_scale;
  if (scale.index == Scale::Index::kNone) return 1.0;
  plain.scales = {scales[at(scale_index(n, k))]};
  if (scale.index == Scale::Index::kRankOne) plain.column_scales = {column_scales[at(k)]};
  return weight(plain, 1.0, 0, 0);
}

double QuantMatrix::value(int64_t n, int64_t k) const {
  const auto& level = levels[codes[at(n * cols + k)]];
  return level ? weight(*this, *level, scale_index(n, k), k) : std::nan("");
}

std::vector<float> QuantMatrix::dense() const {
  std::vector<float> dense(codes.size());
  const auto value_at = [&](uint8_t code, int64_t index, int64_t k) {
    const auto& level = levels[code];
    return static_cast<float>(level ? weight(*this, *level, index, k) : std::nan(""));
  };
  if (!is_separable(scale) || scale.index == Scale::Index::kRankOne) {
    for (int64_t i = 0; i < rows * cols; ++i) {
      const int64_t n = i / cols;
      const int64_t k = i % cols;
      dense[at(i)] = value_at(codes[at(i)], scale_index(n, k), k);
    }
    return dense;
  }
  // Columns in runs that share a scale; a run's few values are computed once a row.
  struct Run {
    int64_t begin, end, term;
  };
  std::vector<Run> runs;
  for (int64_t k = 0; k < cols; ++k) {
    const int64_t term = scale_index(0, k) - scale_index(0, 0);
    if (runs.empty() || runs.back().term != term) runs.push_back({k, k, term});
    runs.back().end = k + 1;
  }
  std::array<float, 256> value_of{};
  for (int64_t n = 0; n < rows; ++n) {
    const int64_t row_term = scale_index(n, 0);
    const uint8_t* const row_codes = codes.data() + n * cols;
    float* const row = dense.data() + n * cols;
    for (const Run& run : runs) {
      const int64_t index = row_term + run.term;
      if (run.end - run.begin < static_cast<int64_t>(levels.size())) {
        for (int64_t k = run.begin; k < run.end; ++k) row[k] = value_at(row_codes[k], index, k);
        continue;
      }
      for (size_t code = 0; code < levels.size(); ++code) {
        value_of[code] = value_at(static_cast<uint8_t>(code), index, run.begin);
      }
      for (int64_t k = run.begin; k < run.end; ++k) row[k] = value_of[row_codes[k]];
    }
  }
  return dense;
}

std::optional<std::vector<int8_t>> QuantMatrix::integer_levels() const {
  std::array<int8_t, 256> level_of{};
  std::array<bool, 256> usable{};
  for (size_t code = 0; code < levels.size() && code < 256; ++code) {
    if (!levels[code] || *levels[code] != std::floor(*levels[code])) continue;
    if (*levels[code] < -128 || *levels[code] > 127) continue;
    level_of[code] = static_cast<int8_t>(*levels[code]);
    usable[code] = true;
  }
  std::vector<int8_t> result(codes.size());
  bool all_usable = true;
  for (size_t i = 0; i < codes.size(); ++i) {
    result[i] = level_of[codes[i]];
    all_usable &= usable[codes[i]];
  }
  if (!all_usable) return std::nullopt;
  return result;
}

QuantMatrix::Unused QuantMatrix::unused_codes() const {
  std::array<bool, 256> has_level{};
  for (size_t code = 0; code < levels.size() && code < 256; ++code) {
    has_level[code] = levels[code].has_value();
  }
  ByteCounts counts{};
  add_byte_counts(codes, counts);
  Unused unused;
  for (size_t code = 0; code < counts.size(); ++code) {
    if (!has_level[code]) unused.count += static_cast<int64_t>(counts[code]);
  }
  if (unused.count > 0) {
    const auto first =
        std::find_if(codes.begin(), codes.end(), [&](uint8_t code) { return !has_level[code]; });
    unused.first = first - codes.begin();
  }
  return unused;
}

}  // namespace trilith::packing
