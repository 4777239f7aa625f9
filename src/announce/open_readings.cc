#include "announce/open_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace trilith::announce {
namespace {

constexpr double kClearLead = 5;  // standard deviations

// Deviation of counts from equal shares of `total` weights a line, in standard deviations.
double spread_of(const std::vector<double>& counts, double length, double share) {
  const double variance = length * share * (1 - share);
  if (variance <= 0 || counts.size() < 2) return 0;
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - length * share) * (count - length * share) / variance;
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

std::optional<double> dispersion_of(const Claim& claim, const packing::PackingSpec& spec) {
  const auto matrix = packing::decode(spec, claim.stored, claim.rows, claim.cols);
  if (!matrix.ok()) return std::nullopt;
  return overdispersion(*matrix);
}

}  // namespace

double overdispersion(const packing::QuantMatrix& matrix) {
  std::vector<double> rows(static_cast<size_t>(matrix.rows));
  std::vector<double> cols(static_cast<size_t>(matrix.cols));
  double total = 0;
  for (size_t i = 0; i < matrix.codes.size(); ++i) {
    if (matrix.levels[matrix.codes[i]] != 0.0) continue;
    ++rows[i / cols.size()];
    ++cols[i % cols.size()];
    ++total;
  }
  const double share = total / static_cast<double>(std::max<size_t>(1, matrix.codes.size()));
  return spread_of(rows, static_cast<double>(matrix.cols), share) +
         spread_of(cols, static_cast<double>(matrix.rows), share);
}

void settle_open_readings(Announcement& announcement) {
  double own = 0;
  std::map<std::string, double> others;
  bool any = false;
  for (const Claim& claim : announcement.claims) {
    for (const Rival& rival : claim.rivals) {
      if (!rival.also_announced) continue;
      const auto first = dispersion_of(claim, claim.spec);
      const auto second = dispersion_of(claim, rival.spec);
      own += first.value_or(0);
      others[rival.name] += second.value_or(0);
      any = true;
    }
  }
  if (!any) return;
  const auto best =
      std::max_element(others.begin(), others.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool changes = best->second - own > kClearLead;
  for (Claim& claim : announcement.claims) {
    for (Rival& rival : claim.rivals) {
      if (rival.also_announced && rival.name == best->first && changes) {
        claim.spec = rival.spec;
        claim.statements.push_back(
            {"law.stride", Json(rival.name),
             fmt::format("rows and columns differ by {:.1f} deviations in this order, by {:.1f} in "
                         "the usual one",
                         best->second, own)});
      }
    }
    std::erase_if(claim.rivals, [](const Rival& rival) { return rival.also_announced; });
  }
}

}  // namespace trilith::announce
