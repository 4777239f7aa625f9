#include "inspect/code_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/splitmix.h"

namespace trilith::inspect {
namespace {

// Nats a code that a context may tell. Outlier rows and channels of real matrices stay below.
constexpr double kMostContext = 0.04;
// Of the code before: strong rows and groups with zero points of their own make neighbours alike.
constexpr double kMostNeighbour = 0.15;

// Signs of weights are as often plus as minus, give or take.
constexpr double kLeastOfTwo = 0.3;

// A fixed random place below `bound` for each index.
std::vector<size_t> scattered(int64_t count, int64_t bound) {
  std::vector<size_t> places(static_cast<size_t>(count));
  SplitMix64 random(static_cast<uint64_t>(bound));
  for (size_t& place : places) place = random.below(static_cast<uint64_t>(bound));
  return places;
}

double log_of(uint64_t count) { return std::log(static_cast<double>(count)); }

}  // namespace

int CodeStatistics::used() const {
  return static_cast<int>(
      std::count_if(counts.begin(), counts.end(), [](uint64_t c) { return c; }));
}

void CodeCounter::accumulate(Gain& gain, const Table& table) {
  const MutualInformation told = mutual_information(table);
  gain.nats += told.nats;
  gain.codes += static_cast<double>(told.pairs);
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
  Table slot_control{};
  Table place_control{};
  Table neighbour_control{};
  Table shifted_control{};
  const std::vector<size_t> any_slot = scattered(extent, slots);
  const std::vector<size_t> any_place = scattered(rows, kPlaces);
  const std::vector<size_t> any_col = scattered(cols, cols);
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
      ++slot_control[any_slot[static_cast<size_t>(e)]][bin];
      ++shifted_control[static_cast<size_t>((e + stride / 2) / stride % slots)][bin];
      ++place_control[any_place[static_cast<size_t>(n)]][bin];
      if (k == 0) continue;
      ++by_neighbour[static_cast<size_t>(row[k - 1] >> shift) % kBins][bin];
      const uint8_t other = row[any_col[static_cast<size_t>(k)]];
      ++neighbour_control[static_cast<size_t>(other >> shift) % kBins][bin];
    }
  }
  sums_.total += codes.size();
  accumulate(slot_.own, by_slot);
  // Slots of long runs may hold a scale group each: runs that start half a slot later tell as much.
  Gain scattered_gain = slot_.control;
  Gain shifted_gain = slot_.control;
  accumulate(scattered_gain, slot_control);
  accumulate(shifted_gain, shifted_control);
  const bool shifted = stride > 1 && shifted_gain.nats > scattered_gain.nats;
  slot_.control = shifted ? shifted_gain : scattered_gain;
  accumulate(place_.own, by_place);
  accumulate(place_.control, place_control);
  accumulate(neighbour_.own, by_neighbour);
  accumulate(neighbour_.control, neighbour_control);
}

double CodeCounter::Context::share() const {
  if (own.codes == 0) return 0;
  return std::max(0.0, (own.nats - std::max(0.0, control.nats)) / own.codes);
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
  result.slot = slot_.share();
  result.place = place_.share();
  result.neighbour = neighbour_.share();
  return result;
}

std::string unlike_weights(const CodeStatistics& statistics, int bits, bool table) {
  if (statistics.used() < 2) return "all codes are the same";
  if (bits == 1 && !table) {
    const auto [low, high] = std::minmax(statistics.counts[0], statistics.counts[1]);
    if (static_cast<double>(low) < kLeastOfTwo * static_cast<double>(low + high)) {
      return "one of two codes is rare, unlike signs of weights";
    }
  }
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
