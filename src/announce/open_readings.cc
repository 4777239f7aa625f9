#include "announce/open_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/ranks.h"

namespace trilith::announce {
namespace {

constexpr double kDeviations = 5;    // a lead of this many is clear
constexpr size_t kMostModules = 64;  // enough for any order; larger files have more of the same

Weight spread_of(const std::vector<double>& counts, double length, double share) {
  const double variance = length * share * (1 - share);
  if (variance <= 0 || counts.size() < 2) return {};
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - length * share) * (count - length * share) / variance;
  }
  return {chi_square / 2, static_cast<double>(counts.size())};
}

struct ZeroCounts {
  std::vector<double> rows;
  std::vector<double> cols;
  double share = 0;
};

ZeroCounts count_zeros(const packing::QuantMatrix& matrix) {
  ZeroCounts counts;
  counts.rows.resize(static_cast<size_t>(matrix.rows));
  counts.cols.resize(static_cast<size_t>(matrix.cols));
  double total = 0;
  for (size_t i = 0; i < matrix.codes.size(); ++i) {
    if (matrix.levels[matrix.codes[i]] != 0.0) continue;
    ++counts.rows[i / counts.cols.size()];
    ++counts.cols[i % counts.cols.size()];
    ++total;
  }
  counts.share = total / static_cast<double>(std::max<size_t>(1, matrix.codes.size()));
  return counts;
}

// What the plain tensors say about the columns of matrices that wide: norm gains, and the size of
// each column of the embedding. At most a few of each width.
std::map<int64_t, std::vector<std::vector<double>>> profiles_of(const Source& source) {
  constexpr size_t kMostProfiles = 8;
  constexpr int64_t kFewest = 16;
  std::map<int64_t, std::vector<std::vector<double>>> profiles;
  for (const TensorView& tensor : source.tensors()) {
    if (!is_scale_type(tensor.dtype) || tensor.shape.empty() || tensor.shape.size() > 2) continue;
    const int64_t width = tensor.shape.back();
    auto& of_width = profiles[width];
    if (width < kFewest || of_width.size() >= kMostProfiles) continue;
    std::vector<double> profile(static_cast<size_t>(width));
    for (uint64_t i = 0; i < tensor.count(); ++i) {
      const double value = element_as_double(tensor, i);
      profile[i % profile.size()] += tensor.shape.size() == 1 ? value : value * value;
    }
    of_width.push_back(std::move(profile));
  }
  return profiles;
}

using Profiles = std::map<int64_t, std::vector<std::vector<double>>>;

Weight weigh(const Claim& claim, const packing::PackingSpec& spec, const Profiles& profiles) {
  const auto matrix = packing::decode(spec, claim.stored, claim.rows, claim.cols);
  if (!matrix.ok()) return {};
  Weight weight = overdispersion(*matrix);
  if (const auto of_width = profiles.find(claim.cols); of_width != profiles.end()) {
    for (const auto& profile : of_width->second) weight.add(alignment(*matrix, profile));
  }
  return weight;
}

}  // namespace

Weight overdispersion(const packing::QuantMatrix& matrix) {
  const ZeroCounts counts = count_zeros(matrix);
  Weight weight = spread_of(counts.rows, static_cast<double>(matrix.cols), counts.share);
  weight.add(spread_of(counts.cols, static_cast<double>(matrix.rows), counts.share));
  return weight;
}

Weight alignment(const packing::QuantMatrix& matrix, const std::vector<double>& profile) {
  const ZeroCounts counts = count_zeros(matrix);
  if (counts.cols.size() != profile.size() || profile.size() < 8) return {};
  const double rho = rank_correlation(counts.cols, profile);
  const double z = std::atanh(std::clamp(rho, -0.999, 0.999)) *
                   std::sqrt(static_cast<double>(profile.size() - 3));
  return {z * z / 2, 1};
}

void settle_open_readings(const Source& source, Announcement& announcement) {
  std::map<std::string, Weight> weights;  // by name of the rival; the claim itself under ""
  const auto is_open = [](const Rival& rival) { return rival.also_announced; };
  const bool any =
      std::any_of(announcement.claims.begin(), announcement.claims.end(), [&](const Claim& claim) {
        return std::any_of(claim.rivals.begin(), claim.rivals.end(), is_open);
      });
  if (!any) return;
  const Profiles profiles = profiles_of(source);
  size_t modules = 0;
  for (const Claim& claim : announcement.claims) {
    if (std::none_of(claim.rivals.begin(), claim.rivals.end(), is_open)) continue;
    if (++modules > kMostModules) break;
    weights[""].add(weigh(claim, claim.spec, profiles));
    for (const Rival& rival : claim.rivals) {
      if (is_open(rival)) weights[rival.name].add(weigh(claim, rival.spec, profiles));
    }
  }
  std::vector<std::pair<std::string, Weight>> ordered(weights.begin(), weights.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second.nats > b.second.nats; });
  const std::string& name = ordered.front().first;
  const Weight& best = ordered.front().second;
  const double lead = best.nats - ordered[1].second.nats;
  if (lead < kDeviations * std::sqrt(std::max(1.0, best.terms))) return;
  for (Claim& claim : announcement.claims) {
    const auto chosen = std::find_if(
        claim.rivals.begin(), claim.rivals.end(),
        [&](const Rival& rival) { return rival.also_announced && rival.name == name; });
    const std::string by = fmt::format(
        "rows, columns, embedding and norms: {:.0f} nats ahead of the next order", lead);
    if (chosen != claim.rivals.end()) {
      claim.spec = chosen->spec;
      claim.statements.push_back({"law.stride", Json(name), by});
    } else if (std::any_of(claim.rivals.begin(), claim.rivals.end(), is_open)) {
      claim.statements.push_back({"law.stride", Json("the usual order of this type"), by});
    }
    std::erase_if(claim.rivals, is_open);
  }
}

}  // namespace trilith::announce
