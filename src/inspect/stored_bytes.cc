#include "inspect/stored_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "announce/code_figures.h"
#include "base/dtype.h"
#include "inspect/contingency.h"

namespace trilith::inspect {
namespace {

// Above what padding (ln 2 = 0.69) and the periods of 3-bit words (0.47) bring.
constexpr double kMostDependence = 0.9;
constexpr size_t kDependenceBytes = size_t{1} << 16;
constexpr size_t kFewestPairs = 512;
constexpr std::array<int64_t, 7> kDistances{1, 2, 3, 4, 8, 16, 32};  // in words
// Codes that straddle bytes have a period of as many bytes. What a phase tells is no dependence.
constexpr std::array<size_t, 4> kPeriods{1, 3, 5, 7};

constexpr size_t kWindows = 4096;
constexpr size_t kSmallestWindow = 16;
constexpr size_t kWindowSample = 256;  // bytes that are counted of a window
constexpr double kPageNats = 100;
constexpr double kPageNatsEach = 0.1;  // a half byte
constexpr double kPageShare = 0.6;

// Of a code that is missing from a part: how often it should occur there, and the least part.
constexpr double kMissed = 30;
constexpr double kLeastPart = 0.2;
// Nats of a half byte, which padding does not have.
constexpr double kLeastEntropy = 1;

using Counts = CountRow;  // of the values of half a byte

size_t half_of(std::byte byte, int shift) {
  return (std::to_integer<size_t>(byte) >> shift) & (kBins - 1);
}

struct Window {
  uint64_t begin = 0;
  Counts counts{};
};

std::vector<Window> count_windows(std::span<const std::byte> bytes) {
  const size_t step = std::max(kSmallestWindow, (bytes.size() + kWindows - 1) / kWindows);
  std::vector<Window> windows;
  for (size_t begin = 0; begin < bytes.size(); begin += step) {
    Window window{begin, {}};
    const size_t end = std::min(bytes.size(), begin + std::min(step, kWindowSample));
    for (size_t i = begin; i < end; ++i) {
      ++window.counts[half_of(bytes[i], 0)];
      ++window.counts[half_of(bytes[i], 4)];
    }
    windows.push_back(window);
  }
  return windows;
}

struct Run {
  size_t begin = 0;  // windows
  size_t end = 0;
  double nats = 0;
};

// The run of windows that noise explains best against `rest`.
Run best_run(const std::vector<Window>& windows, const Counts& rest) {
  uint64_t total = 0;
  for (const uint64_t count : rest) total += count;
  std::array<double, kBins> gain{};
  for (size_t c = 0; c < kBins; ++c) {
    const double share = (static_cast<double>(rest[c]) + 0.5) / (static_cast<double>(total) + 8.0);
    gain[c] = -std::log(share * static_cast<double>(kBins));
  }
  Run best;
  Run open;
  for (size_t w = 0; w < windows.size(); ++w) {
    if (open.nats <= 0) open = {w, w, 0};
    for (size_t c = 0; c < kBins; ++c) {
      open.nats += gain[c] * static_cast<double>(windows[w].counts[c]);
    }
    open.end = w + 1;
    if (open.nats > best.nats) best = open;
  }
  return best;
}

// How often each pair of bits occurs among the halves of bytes.
std::array<uint64_t, 4> count_pairs(const Counts& counts) {
  std::array<uint64_t, 4> pairs{};
  for (size_t half = 0; half < kBins; ++half) {
    pairs[half & 3] += counts[half];
    pairs[half >> 2] += counts[half];
  }
  return pairs;
}

double entropy(const Counts& counts) {
  uint64_t total = 0;
  double nats = 0;
  for (const uint64_t count : counts) {
    total += count;
    nats -= n_log_n(count);
  }
  return total == 0 ? 0 : (nats + n_log_n(total)) / static_cast<double>(total);
}

uint64_t end_of(const std::vector<Window>& windows, size_t window, const TensorView& tensor) {
  return window < windows.size() ? windows[window].begin : tensor.bytes.size();
}

// Of the last dimension, with a window of slack at both ends.
uint64_t line_bytes(const TensorView& tensor) {
  if (tensor.shape.size() < 2) return 0;
  return static_cast<uint64_t>(tensor.shape.back()) * dtype_size(tensor.dtype) +
         2 * kSmallestWindow;
}

// Half bytes that are compared: every `word` bytes from `lane` on, with the one `ahead`.
struct Halves {
  size_t lane;
  size_t word;
  size_t ahead;
  int shift;
};

// Nats of a half byte about the other one, where the place modulo `period` is known.
double dependence(std::span<const std::byte> bytes, const Halves& halves, size_t period) {
  double nats = 0;
  for (size_t phase = 0; phase < period; ++phase) {
    std::array<Counts, kBins> table{};
    for (size_t i = halves.lane + phase * halves.word; i + halves.ahead < bytes.size();
         i += period * halves.word) {
      ++table[half_of(bytes[i], halves.shift)][half_of(bytes[i + halves.ahead], halves.shift)];
    }
    nats += mutual_information(table).nats_each();
  }
  return nats / static_cast<double>(period);
}

}  // namespace

SerialDependence serial_dependence(const TensorView& tensor) {
  SerialDependence worst;
  const std::span bytes = tensor.bytes.first(std::min(tensor.bytes.size(), kDependenceBytes));
  const size_t word = dtype_size(tensor.dtype);
  for (const int64_t distance : kDistances) {
    const size_t ahead = static_cast<size_t>(distance) * word;
    if (bytes.size() / word < kFewestPairs + static_cast<size_t>(distance)) break;
    for (size_t lane = 0; lane < word; ++lane) {
      for (const int shift : {0, 4}) {
        double least = dependence(bytes, {lane, word, ahead, shift}, 1);
        for (const size_t period : kPeriods) {
          if (least <= std::max(worst.nats, kMostDependence)) break;
          least = std::min(least, dependence(bytes, {lane, word, ahead, shift}, period));
        }
        if (least > worst.nats) worst = {least, distance};
      }
    }
  }
  return worst;
}

namespace {

std::optional<NoisePage> noise_page(const TensorView& tensor, const std::vector<Window>& windows) {
  Counts all{};
  for (const Window& window : windows) {
    for (size_t c = 0; c < kBins; ++c) all[c] += window.counts[c];
  }
  // What the rest looks like is known once the page is, and the other way round.
  Counts rest = all;
  Counts inside{};
  Run run;
  for (int round = 0; round < 4; ++round) {
    run = best_run(windows, rest);
    inside = {};
    for (size_t w = run.begin; w < run.end; ++w) {
      for (size_t c = 0; c < kBins; ++c) inside[c] += windows[w].counts[c];
    }
    for (size_t c = 0; c < kBins; ++c) rest[c] = all[c] - inside[c];
  }
  uint64_t total = 0;
  for (const uint64_t count : inside) total += count;
  const double halves = static_cast<double>(total);
  if (run.nats < kPageNats || run.nats < kPageNatsEach * halves) return std::nullopt;
  // An outlier channel spreads over all codes in a line of the matrix.
  const uint64_t begin = windows[run.begin].begin;
  const uint64_t end = end_of(windows, run.end, tensor);
  if (end - begin <= line_bytes(tensor)) return std::nullopt;
  if (static_cast<double>(run.end - run.begin) > kPageShare * static_cast<double>(windows.size())) {
    return std::nullopt;
  }
  if (!announce::even_spread(inside).is_even()) return std::nullopt;
  return NoisePage{begin, end, run.nats};
}

std::optional<AlphabetChange> alphabet_change(const TensorView& tensor,
                                              const std::vector<Window>& windows) {
  for (size_t code = 0; code < 4; ++code) {
    const auto holds = [code](const Window& window) {
      return count_pairs(window.counts)[code] > 0;
    };
    const auto first = std::find_if(windows.begin(), windows.end(), holds);
    const auto last = std::find_if(windows.rbegin(), windows.rend(), holds).base();
    if (first == windows.end()) continue;
    Counts without{};
    Counts with{};
    size_t lacking = 0;
    for (auto window = windows.begin(); window != windows.end(); ++window) {
      const bool inside = window >= first && window < last;
      for (size_t c = 0; c < kBins; ++c) (inside ? with : without)[c] += window->counts[c];
      if (!inside) ++lacking;
    }
    uint64_t fields = 0;
    for (const uint64_t count : count_pairs(without)) fields += count;
    uint64_t all = 0;
    for (const uint64_t count : count_pairs(with)) all += count;
    const double share = static_cast<double>(count_pairs(with)[code]) / static_cast<double>(all);
    const double least = kLeastPart * static_cast<double>(windows.size());
    const bool large = static_cast<double>(lacking) > least &&
                       static_cast<double>(windows.size() - lacking) > least;
    if (!large || share * static_cast<double>(fields) < kMissed) continue;
    if (entropy(without) < kLeastEntropy) continue;
    return AlphabetChange{static_cast<int>(code), first->begin,
                          end_of(windows, static_cast<size_t>(last - windows.begin()), tensor)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<NoisePage> noise_page(const TensorView& tensor) {
  return noise_page(tensor, count_windows(tensor.bytes));
}

std::optional<AlphabetChange> alphabet_change(const TensorView& tensor) {
  return alphabet_change(tensor, count_windows(tensor.bytes));
}

Status like_packed_weights(const TensorView& tensor) {
  if (is_float(tensor.dtype)) return {};
  const SerialDependence serial = serial_dependence(tensor);
  if (serial.nats > kMostDependence) {
    return Error::unsupported(
               fmt::format(
                   "not packed weights: half a byte tells {:.2f} of 2.77 nats of the one {} "
                   "words on, as in text, pictures and counters",
                   serial.nats, serial.distance))
        .with_tensor(tensor.name);
  }
  const std::vector<Window> windows = count_windows(tensor.bytes);
  if (const auto page = noise_page(tensor, windows)) {
    return Error::damaged(fmt::format("bytes {} to {} are noise, unlike the rest of the tensor "
                                      "({:.0f} nats): they were overwritten",
                                      page->begin, page->end, page->nats))
        .with_tensor(tensor.name);
  }
  if (const auto change = alphabet_change(tensor, windows)) {
    return Error::damaged(fmt::format("bits {:02b} occur in bytes {} to {} alone: the tensor holds "
                                      "two packings, or a part was overwritten",
                                      change->code, change->begin, change->end))
        .with_tensor(tensor.name);
  }
  return {};
}

}  // namespace trilith::inspect
