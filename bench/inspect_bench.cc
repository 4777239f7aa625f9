// Times the statistics pass of inspect (processor time of one thread) over words of 1, 2, 4 and
// 8-bit fields, against a read of the same bytes: of a matrix that fits the caches, and of as many
// bytes as a file has that lies in the page cache. JSON lines on stdout, a table on stderr; status
// 1 when a case is below 1 GB/s, or the file below 5 % of the read.
//   inspect_bench [ROUNDS]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/json.h"
#include "base/splitmix.h"
#include "bench/rounds.h"
#include "inspect/word_statistics.h"

namespace trilith::inspect {
namespace {

constexpr double kLeastRate = 1e9;  // bytes a second

struct Case {
  std::string name;
  int bits;
  std::function<void()> run;
  bench::Seconds seconds;
};

// Fields as weights have them: the middle value in a third of all, the others alike.
std::vector<std::byte> draw(size_t count, int bits) {
  constexpr size_t kDrawn = size_t{1} << 20;  // repeated from there on
  SplitMix64 random(1);
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    if (i >= kDrawn) {
      bytes[i] = bytes[i - kDrawn];
      continue;
    }
    unsigned value = 0;
    for (int shift = 0; shift < 8; shift += bits) {
      const uint64_t draw = random.next();
      const uint64_t field = draw % 3 == 0 ? 1 : (draw >> 8) & ((1U << bits) - 1);
      value |= static_cast<unsigned>(field) << shift;
    }
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

bool bench_matrix(size_t rows, size_t width, double least_share, int rounds) {
  bool fast = true;
  for (const int bits : {1, 2, 4, 8}) {
    const std::vector<std::byte> bytes = draw(rows * width, bits);
    std::vector<Case> cases;
    cases.push_back({"read probe",
                     8,
                     [&] {
                       bench::read_all(reinterpret_cast<const uint8_t*>(bytes.data()),
                                       static_cast<int64_t>(bytes.size()));
                     },
                     {}});
    cases.push_back({fmt::format("statistics of {}-bit fields", bits),
                     bits,
                     [&] {
                       const volatile size_t mark = word_statistics(bytes, rows, bits).mark;
                       static_cast<void>(mark);
                     },
                     {}});
    for (int round = 0; round < rounds; ++round) {
      for (Case& c : cases) c.seconds.add(bench::time_of(c.run));
    }
    const auto size = static_cast<double>(bytes.size());
    const double probe = size / cases[0].seconds.median();
    for (const Case& c : cases) {
      const double seconds = c.seconds.median();
      const double rate = size / seconds;
      const Json line = Json::object({{"case", c.name},
                                      {"n", rows},
                                      {"k", width * static_cast<size_t>(8 / c.bits)},
                                      {"m", 1},
                                      {"threads", 1},
                                      {"isa", "-"},
                                      {"mode", "-"},
                                      {"seconds", seconds},
                                      {"bytes", bytes.size()},
                                      {"gmacs", 0.0},
                                      {"gbps", rate * 1e-9},
                                      {"probe", probe * 1e-9},
                                      {"share", rate / probe},
                                      {"median", seconds},
                                      {"spread", c.seconds.spread()},
                                      {"cpu", cpu_features().name},
                                      {"compiler", __VERSION__}});
      fmt::print("{}\n", line.dump());
      fmt::print(stderr,
                 "{:<28} {:>6} rows of {:>5} bytes {:>9.1f} us {:>7.2f} GB/s {:>5.1f} % of read, "
                 "spread {:.0f} %\n",
                 c.name, rows, width, seconds * 1e6, rate * 1e-9, 100 * rate / probe,
                 100 * c.seconds.spread());
      fast = fast && rate >= kLeastRate && rate >= least_share * probe;
    }
  }
  return fast;
}

}  // namespace
}  // namespace trilith::inspect

// Of a read from memory.
constexpr double kLeastShare = 0.05;

int main(int argc, char** argv) {
  const int rounds =
      argc > 1 ? static_cast<int>(std::max(1L, std::strtol(argv[1], nullptr, 10))) : 15;
  const bool small = trilith::inspect::bench_matrix(768, 512, 0, rounds);
  const bool large = trilith::inspect::bench_matrix(209715, 2560, kLeastShare, rounds);
  return small && large ? 0 : 1;
}
