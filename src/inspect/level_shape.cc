#include "inspect/level_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace trilith::inspect {
namespace {

constexpr double kMostUnused = 0.01;

// Levels of one magnitude: how many on either side, and how wide a range of weights each takes.
struct Ring {
  double below = 0;
  double above = 0;
  double width_below = 0;
  double width_above = 0;
  double count() const { return below + above; }
  double width() const { return width_below + width_above; }
};

double share_nats(double count, double expected, double total) {
  return count > 0 ? count * std::log(expected / total) : 0;
}

// Densities that do not rise with magnitude (pool adjacent violators).
std::vector<double> falling_densities(const std::vector<Ring>& rings) {
  struct Pool {
    double count, width;
    size_t rings;
  };
  std::vector<Pool> pools;
  for (const Ring& ring : rings) {
    pools.push_back({ring.count(), ring.width(), 1});
    while (pools.size() > 1) {
      const Pool& last = pools.back();
      Pool& before = pools[pools.size() - 2];
      if (before.count * last.width >= last.count * before.width) break;
      before.count += last.count;
      before.width += last.width;
      before.rings += last.rings;
      pools.pop_back();
    }
  }
  std::vector<double> densities;
  for (const Pool& pool : pools) {
    densities.insert(densities.end(), pool.rings, pool.count / pool.width);
  }
  return densities;
}

}  // namespace

double symmetric_shape_nats(std::span<const std::pair<double, double>> level_counts) {
  std::map<double, double> counts;  // several codes of one level count together
  double total = 0;
  for (const auto& [level, count] : level_counts) {
    counts[level] += count;
    total += count;
  }
  if (total == 0 || counts.size() < 2) return 0;
  std::map<double, Ring> by_magnitude;
  double saturated = 0;
  for (auto it = counts.begin(); it != counts.end(); ++it) {
    const double next = std::next(it) == counts.end() ? it->first : std::next(it)->first;
    const double before = it == counts.begin() ? it->first : std::prev(it)->first;
    double width = (next - before) / 2;
    if (it == counts.begin() || std::next(it) == counts.end()) width *= 2;
    Ring& ring = by_magnitude[std::abs(it->first)];
    (it->first < 0 ? ring.below : ring.above) += it->second;
    (it->first < 0 ? ring.width_below : ring.width_above) += width;
    saturated += share_nats(it->second, it->second, total);
  }
  std::vector<Ring> rings;
  for (const auto& [magnitude, ring] : by_magnitude) rings.push_back(ring);
  // The outermost magnitudes gather what was clipped, or are rare by the rounding: any density.
  const size_t free_rings = std::min<size_t>(2, rings.size() - 1);
  std::vector<Ring> inner(rings.begin(), rings.end() - static_cast<std::ptrdiff_t>(free_rings));
  std::vector<double> densities = falling_densities(inner);
  for (size_t i = inner.size(); i < rings.size(); ++i) {
    densities.push_back(rings[i].count() / rings[i].width());
  }
  double fitted = 0;
  for (size_t i = 0; i < rings.size(); ++i) {
    fitted += share_nats(rings[i].below, densities[i] * rings[i].width_below, total);
    fitted += share_nats(rings[i].above, densities[i] * rings[i].width_above, total);
  }
  return fitted - saturated;
}

double level_shape_nats(const CodeHistogram& counts,
                        std::span<const std::optional<double>> levels) {
  std::vector<std::pair<double, double>> level_counts;
  double unused = 0;
  double total = 0;
  for (size_t code = 0; code < counts.size(); ++code) {
    const auto count = static_cast<double>(counts[code]);
    total += count;
    if (code < levels.size() && levels[code]) {
      level_counts.emplace_back(*levels[code], count);
    } else {
      unused += count;
    }
  }
  if (unused > kMostUnused * total) return -std::numeric_limits<double>::infinity();
  return symmetric_shape_nats(level_counts) - unused * std::log(256.0);
}

}  // namespace trilith::inspect
