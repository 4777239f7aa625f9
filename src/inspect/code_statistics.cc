#include "inspect/code_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trilith::inspect {
namespace {

// Nats a code that a context may tell. Outlier rows and channels of real matrices stay below.
constexpr double kMostContext = 0.04;
// Of the code before: strong rows and groups with zero points of their own make neighbours alike.
constexpr double kMostNeighbour = 0.15;

double log_of(uint64_t count) { return std::log(static_cast<double>(count)); }

}  // namespace

int CodeStatistics::used() const {
  return static_cast<int>(
      std::count_if(counts.begin(), counts.end(), [](uint64_t c) { return c; }));
}

// Mutual information of row and column of a table, less what chance gives on average.
void CodeCounter::accumulate(Gain& gain, const Table& table) {
  std::array<uint64_t, kBins> columns{};
  uint64_t total = 0;
  double nats = 0;
  int used_rows = 0;
  for (const auto& row : table) {
    uint64_t sum = 0;
    for (size_t bin = 0; bin < kBins; ++bin) {
      sum += row[bin];
      columns[bin] += row[bin];
      if (row[bin] > 0) nats += static_cast<double>(row[bin]) * log_of(row[bin]);
    }
    if (sum == 0) continue;
    ++used_rows;
    total += sum;
    nats -= static_cast<double>(sum) * log_of(sum);
  }
  int used_columns = 0;
  for (const uint64_t column : columns) {
    if (column == 0) continue;
    ++used_columns;
    nats -= static_cast<double>(column) * log_of(column);
  }
  if (total == 0) return;
  nats += static_cast<double>(total) * log_of(total);
  nats -= 0.5 * (used_rows - 1) * (used_columns - 1);
  gain.nats += nats;
  gain.codes += static_cast<double>(total);
}

void CodeCounter::add(std::span<const uint8_t> codes, int64_t rows, int64_t cols) {
  const packing::Law& law = spec_.law;
  int shift = 0;  // codes of many values are binned by their highest bits
  const int bits = spec_.bits == 0 ? 2 : spec_.bits;
  while ((1 << (bits - shift)) > static_cast<int>(kBins)) ++shift;
  const int64_t slots = std::clamp(law.slots, 1, 64);
  const bool along_k = law.axis != packing::Axis::kN;
  const int64_t extent = along_k ? cols : rows;
  const int64_t stride = law.stride.kind == packing::Stride::Kind::kFixed
                             ? law.stride.value
                             : std::max<int64_t>(1, (extent + slots - 1) / slots);
  Table by_slot{};
  Table by_place{};
  Table by_neighbour{};
  for (int64_t n = 0; n < rows; ++n) {
    const uint8_t* const row = codes.data() + n * cols;
    sums_.rows.emplace_back();
    auto& own = sums_.rows.back();
    const auto place = static_cast<size_t>(n * static_cast<int64_t>(kPlaces) / rows);
    for (int64_t k = 0; k < cols; ++k) {
      ++sums_.counts[row[k]];
      ++own[row[k] & 15];
      const auto bin = static_cast<size_t>(row[k] >> shift) % kBins;
      const int64_t e = along_k ? k : n;
      ++by_slot[static_cast<size_t>(e / stride % slots)][bin];
      ++by_place[place][bin];
      if (k > 0) ++by_neighbour[static_cast<size_t>(row[k - 1] >> shift) % kBins][bin];
    }
  }
  sums_.total += codes.size();
  accumulate(slot_, by_slot);
  accumulate(place_, by_place);
  accumulate(neighbour_, by_neighbour);
}

CodeStatistics CodeCounter::finish() const {
  CodeStatistics result = sums_;
  if (result.total == 0) return result;
  double nats = 0;
  int used = 0;
  for (const uint64_t count : result.counts) {
    if (count == 0) continue;
    ++used;
    nats -= static_cast<double>(count) * (log_of(count) - log_of(result.total));
  }
  result.entropy = nats / static_cast<double>(result.total);
  result.description_nats = nats + 0.5 * (used - 1) * log_of(result.total);
  const auto share = [](const Gain& gain) {
    return gain.codes > 0 ? std::max(0.0, gain.nats / gain.codes) : 0.0;
  };
  result.slot = share(slot_);
  result.place = share(place_);
  result.neighbour = share(neighbour_);
  return result;
}

std::string unlike_weights(const CodeStatistics& statistics, int bits, bool table) {
  if (statistics.used() < 2) return "all codes are the same";
  if (statistics.slot > kMostContext) {
    return fmt::format("the slots of a word hold different codes ({:.2f} nats)", statistics.slot);
  }
  if (statistics.place > kMostContext) {
    return fmt::format("the codes change from place to place ({:.2f} nats)", statistics.place);
  }
  if (statistics.neighbour > kMostNeighbour) {
    return fmt::format("a code tells the next one ({:.2f} nats)", statistics.neighbour);
  }
  const double most = bits == 0 ? std::log(3.0) : static_cast<double>(bits) * std::log(2.0);
  if (bits > 1 && !table && statistics.entropy > most - 0.002)
    return "the codes are as even as noise";
  return "";
}

}  // namespace trilith::inspect
