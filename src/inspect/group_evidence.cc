#include "inspect/group_evidence.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trilith::inspect {
namespace {

struct Group {
  double count = 0;
  double sum = 0;
  double squares = 0;
  double magnitudes = 0;
  double low = 1e30;
  double high = -1e30;
};

// n groups of which `hits` do something that chance gives each with its own probability.
double surplus_nats(double hits, double expected, double groups) {
  if (groups < 2 || hits <= expected) return 0;
  const auto clamp = [groups](double share) {
    return std::clamp(share, 0.5 / groups, 1 - 0.5 / groups);
  };
  const double p = clamp(hits / groups);
  const double q = clamp(expected / groups);
  return std::max(0.0, groups * (p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q))));
}

// How many groups reach the level `extreme` of magnitude or value.
template <typename Reaches>
double reach_nats(const std::vector<Group>& groups, double share, Reaches reaches) {
  double hits = 0;
  double expected = 0;
  for (const Group& group : groups) {
    hits += reaches(group) ? 1 : 0;
    expected += 1 - std::pow(1 - share, group.count);
  }
  return surplus_nats(hits, expected, static_cast<double>(groups.size()));
}

}  // namespace

GroupEvidence weigh_groups(const packing::QuantMatrix& matrix) {
  using packing::Zero;
  GroupEvidence evidence;
  std::vector<Group> groups(std::max<size_t>(1, matrix.scales.size()));
  // Every weight in units of its scale: level − zero, or with a bias over the scale.
  const auto centre_of = [&](size_t index) {
    if (matrix.zeros.empty()) return 0.0;
    const double zero = static_cast<double>(matrix.zeros[index]);
    double scale = matrix.scales.empty() ? 1 : static_cast<double>(matrix.scales[index]);
    if (matrix.scale.op == packing::Scale::Op::kDivide) scale = 1 / scale;
    switch (matrix.zero.kind) {
      case Zero::Kind::kInteger:
      case Zero::Kind::kFloat:
        return zero;
      case Zero::Kind::kFloatBias:
        return -zero / scale;
      case Zero::Kind::kFloatShift:
        return zero / scale;
      default:
        return 0.0;
    }
  };
  std::vector<double> centres(groups.size());
  for (size_t i = 0; i < centres.size(); ++i) centres[i] = centre_of(i);
  double low = 1e30;
  double high = -1e30;
  for (int64_t n = 0; n < matrix.rows; ++n) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const auto& level = matrix.levels[matrix.codes[static_cast<size_t>(n * matrix.cols + k)]];
      if (!level) continue;
      const auto index = static_cast<size_t>(matrix.scale_index(n, k));
      Group& group = groups[index];
      const double value = *level - centres[index];
      group.count += 1;
      group.sum += value;
      group.squares += value * value;
      group.magnitudes += std::abs(*level);
      group.low = std::min(group.low, *level);
      group.high = std::max(group.high, *level);
      low = std::min(low, *level);
      high = std::max(high, *level);
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.count < 2; });
  const double largest = std::max(std::abs(low), std::abs(high));
  double at_low = 0;
  double at_high = 0;
  double at_ends = 0;
  double total = 0;
  for (size_t i = 0; i < matrix.codes.size(); ++i) {
    const auto& level = matrix.levels[matrix.codes[i]];
    if (!level) continue;
    total += 1;
    at_low += *level == low ? 1 : 0;
    at_high += *level == high ? 1 : 0;
    // Two's complement rarely uses its lowest code: the end is the smaller of the two magnitudes.
    at_ends += std::abs(*level) >= std::min(largest, std::min(std::abs(low), high)) ? 1 : 0;
  }
  if (total == 0 || high <= low) return evidence;
  if (groups.size() > 1) {
    const double end = std::min(largest, std::min(std::abs(low), high));
    const double absmax =
        low < 0 ? reach_nats(groups, at_ends / total,
                             [end](const Group& group) {
                               return std::max(std::abs(group.low), std::abs(group.high)) >= end;
                             })
                : 0;
    const double affine =
        reach_nats(groups, at_low / total, [low](const Group& g) { return g.low <= low; }) +
        reach_nats(groups, at_high / total, [high](const Group& g) { return g.high >= high; });
    // Means of magnitude more even than chance.
    double mean = 0;
    double square = 0;
    for (const Group& group : groups) mean += group.magnitudes;
    mean /= total;
    for (size_t i = 0; i < matrix.codes.size(); ++i) {
      const auto& level = matrix.levels[matrix.codes[i]];
      if (level) square += (std::abs(*level) - mean) * (std::abs(*level) - mean);
    }
    const double variance = square / total;
    double ratio = 0;
    for (const Group& group : groups) {
      const double gap = group.magnitudes / group.count - mean;
      ratio += gap * gap * group.count / variance;
    }
    ratio /= static_cast<double>(groups.size());
    const double even =
        variance > 0 && ratio < 1 && ratio > 0
            ? 0.5 * static_cast<double>(groups.size()) * (ratio - 1 - std::log(ratio))
            : 0;
    evidence.partition = std::max({absmax, affine, even});
  }
  // Few levels, more of them on one side, cut the other side off.
  const bool lopsided = matrix.zeros.empty() && high - low < 4 && low + high != 0;
  if (lopsided) return evidence;
  for (const Group& group : groups) {
    if (group.squares <= 0) continue;
    // Less what chance gives a group whose values are as often above as below zero: one, whatever
    // they are.
    evidence.centre += 0.5 - 0.5 * group.sum * group.sum / group.squares;
  }
  // Chance and the small means that rows really have are not held against a reading.
  const double slack = 10 + 2 * std::sqrt(static_cast<double>(groups.size()));
  evidence.centre = std::min(0.0, evidence.centre + slack);
  return evidence;
}

}  // namespace trilith::inspect
