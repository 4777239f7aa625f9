// What the benchmarks share: processor time of one thread, the read probe that every rate is held
// against, and the median over rounds in which all cases run in turn, so that a noisy neighbour
// hits each of them alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <vector>

namespace trilith::bench {

class Seconds {
 public:
  void add(double seconds) { rounds_.push_back(seconds); }
  double median() const { return sorted()[rounds_.size() / 2]; }
  double spread() const {  // half of the rounds lie within this share of the median
    const std::vector<double> ordered = sorted();
    const size_t quarter = ordered.size() / 4;
    return (ordered[ordered.size() - 1 - quarter] - ordered[quarter]) / median();
  }

 private:
  std::vector<double> sorted() const {
    std::vector<double> ordered = rounds_;
    std::sort(ordered.begin(), ordered.end());
    return ordered;
  }
  std::vector<double> rounds_;
};

inline volatile uint64_t sink;  // keeps what is computed

inline void read_all(const uint8_t* bytes, int64_t count) {
  uint64_t sums[8] = {};
  const auto* words = reinterpret_cast<const uint64_t*>(bytes);
  for (int64_t i = 0; i < count / 64; ++i) {
    for (int64_t j = 0; j < 8; ++j) sums[j] += words[8 * i + j];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;

  sink = total;
}

// Of this thread: what other processes take does not count.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double time_of(const std::function<void()>& run) {
  int64_t calls = 0;
  const double start = processor_seconds();
  double seconds = 0;
  do {
    run();
    ++calls;
    seconds = processor_seconds() - start;
  } while (seconds < 2e-3);
  return seconds / static_cast<double>(calls);
}

}  // namespace trilith::bench
