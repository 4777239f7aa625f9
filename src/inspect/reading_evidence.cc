#include "inspect/reading_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "inspect/numbers.h"
#include "inspect/overdispersion.h"

namespace trilith::inspect {

using packing::QuantMatrix;

Result<QuantMatrix> decode_module(const packing::PackingSpec& spec, const PackedModule& module) {
  packing::TensorsByRole tensors;
  for (const auto& [role, tensor] : module.stored) tensors[role] = *tensor;
  return packing::decode(spec, tensors, module.rows, module.cols);
}

Result<QuantMatrix> decode_codes(const packing::PackingSpec& spec, const PackedModule& module,
                                 int64_t rows, int64_t cols) {
  packing::TensorsByRole tensors;
  for (const auto& [role, tensor] : module.stored) {
    if (role.starts_with("codes")) tensors[role] = *tensor;
  }
  return packing::decode(spec, tensors, rows, cols);
}

double inverse_gain(const QuantMatrix& matrix) {
  double sum = 0;
  std::vector<double> squares(matrix.levels.size());
  for (size_t code = 0; code < squares.size(); ++code) {
    squares[code] = matrix.levels[code] ? *matrix.levels[code] * *matrix.levels[code] : 0;
  }
  for (const uint8_t code : matrix.codes) sum += squares[code];
  std::vector<double> magnitudes;
  for (const float scale : matrix.scales) {
    magnitudes.push_back(std::abs(static_cast<double>(scale)));
  }
  const double typical = magnitudes.empty() ? 1 : median(std::move(magnitudes));
  const double mean = sum / static_cast<double>(matrix.codes.size());
  return std::sqrt(mean * static_cast<double>(matrix.cols)) / typical;
}

std::vector<double> column_scales(const QuantMatrix& matrix) {
  if (matrix.scale.index != packing::Scale::Index::kColumn ||
      matrix.scales.size() != static_cast<size_t>(matrix.cols)) {
    return {};
  }
  const bool usable = std::all_of(matrix.scales.begin(), matrix.scales.end(),
                                  [](float scale) { return std::isfinite(scale) && scale != 0; });
  if (!usable) return {};
  return {matrix.scales.begin(), matrix.scales.end()};
}

Profiles profile_dense(const QuantMatrix& matrix, const std::vector<float>& dense,
                       double& mean_square) {
  Profiles profiles;
  const auto rows = static_cast<size_t>(matrix.rows);
  const auto cols = static_cast<size_t>(matrix.cols);
  profiles.row_codes.resize(rows);
  profiles.row_energy.resize(rows);
  profiles.col_energy.resize(cols);
  std::vector<double> own(cols, 1);  // 1 / scale² of each column
  const std::vector<double> columns = column_scales(matrix);
  for (size_t k = 0; k < columns.size(); ++k) own[k] = 1 / (columns[k] * columns[k]);
  double total = 0;
  size_t i = 0;
  for (size_t n = 0; n < rows; ++n) {
    for (size_t k = 0; k < cols; ++k) {
      const auto value = static_cast<double>(dense[i++]);
      const double scale = matrix.scale_at(static_cast<int64_t>(n), static_cast<int64_t>(k));
      const double level = scale == 0 ? 0 : value / scale;
      profiles.row_energy[n] += value * value;
      profiles.row_codes[n] += level * level;
      profiles.col_energy[k] += value * value * own[k];
    }
    total += profiles.row_energy[n];
  }
  mean_square = total / static_cast<double>(dense.size());
  return profiles;
}

double disperse(const QuantMatrix& matrix) {
  std::array<uint64_t, 256> counts{};
  for (const uint8_t code : matrix.codes) ++counts[code];
  std::vector<size_t> used;
  for (size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] > 0) used.push_back(code);
  }
  if (used.size() < 3) return 0;  // signs say nothing of magnitude
  std::vector<uint8_t> marked(matrix.codes.size());
  const int64_t group = matrix.scale.group;
  const int64_t run = group > 0 && matrix.cols % group == 0 ? group : 0;
  const auto measure = [&](const std::array<bool, 256>& chosen) {
    for (size_t i = 0; i < marked.size(); ++i) marked[i] = chosen[matrix.codes[i]];
    return measure_dispersion(marked, matrix.rows, matrix.cols, run).nats;
  };
  if (used.size() <= 4) {
    double nats = 0;
    for (const size_t code : used) {
      std::array<bool, 256> chosen{};
      chosen[code] = true;
      nats += measure(chosen);
    }
    return nats / static_cast<double>(used.size());
  }
  std::stable_sort(used.begin(), used.end(),
                   [&](size_t a, size_t b) { return counts[a] < counts[b]; });
  std::array<bool, 256> chosen{};
  uint64_t marks = 0;
  for (const size_t code : used) {
    if (marks > 0 && 3 * (marks + counts[code] / 2) > matrix.codes.size()) break;
    marks += counts[code];
    chosen[code] = true;
  }
  return measure(chosen);
}

}  // namespace trilith::inspect
