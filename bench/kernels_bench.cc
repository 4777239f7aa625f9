// Times the dots (processor time of one thread) of every kernel set against a read of the same
// bytes. All cases of a working set run in turn, round after round, so that a noisy neighbour hits
// each of them alike; the median round counts. JSON lines on stdout, a table on stderr.
//   kernels_bench [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/rounds.h"
#include "kernels/float_environment.h"
#include "kernels/panels.h"
#include "kernels/registry.h"

namespace trilith::kernels {
namespace {

struct Case {
  std::string name;
  std::string isa;
  int64_t n, k, m;
  int64_t bytes;  // weights read by one call
  std::function<void()> run;
  bench::Seconds seconds;
};

// One weight matrix as panels, its inputs and outputs.
class Matrix {
 public:
  Matrix(int64_t n, int64_t k, int levels) : n_(n), k_(k), levels_(levels) {
    std::vector<int8_t> weights(static_cast<size_t>(n * k));
    uint32_t state = 1;
    for (int8_t& w : weights) {
      state = state * 1664525 + 1013904223;
      w = static_cast<int8_t>(static_cast<int>(state >> 8) % levels - levels / 2);
    }
    panels_ = *pack_panels(weights, n, k);
    x_.assign(static_cast<size_t>(kMaxTokens * panels_.padded_cols()), 3);
    acc_.resize(static_cast<size_t>(kMaxTokens * panels_.padded_rows()));
  }

  Case probe() {
    return {"read probe",
            "-",
            n_,
            k_,
            1,
            bytes(),
            [this] { bench::read_all(panels_.data.as<uint8_t>(), bytes()); },
            {}};
  }
  Case dot(const KernelSet& set, int64_t tokens) {
    return {levels_ == 3 ? "panel2_dot" : "panel8_dot",
            set.name,
            n_,
            k_,
            tokens,
            bytes(),
            [this, &set, tokens] {
              panel_dot(set, panels_, 0, panels_.panel_count, x_.data(), panels_.padded_cols(),
                        tokens, subtract_.data(), acc_.data(), panels_.padded_rows());
            },
            {}};
  }

 private:
  static constexpr int64_t kMaxTokens = 16;
  int64_t bytes() const { return static_cast<int64_t>(panels_.data.size()); }
  int64_t n_;
  int64_t k_;
  int levels_;
  Panels panels_;
  std::vector<int8_t> x_;
  std::vector<int32_t> acc_;
  std::vector<int32_t> subtract_ = std::vector<int32_t>(kMaxTokens);
};

void print(const Case& c, double probe_rate) {
  const double seconds = c.seconds.median();
  const double rate = static_cast<double>(c.bytes) / seconds;
  const bool is_probe = c.isa == "-";
  const double macs = is_probe ? 0.0 : static_cast<double>(c.n * c.k * c.m);
  const Json line = Json::object({{"case", c.name},
                                  {"n", c.n},
                                  {"k", c.k},
                                  {"m", c.m},
                                  {"threads", 1},
                                  {"isa", c.isa},
                                  {"mode", "a8"},
                                  {"seconds", seconds},
                                  {"bytes", c.bytes},
                                  {"gmacs", macs / seconds * 1e-9},
                                  {"gbps", rate * 1e-9},
                                  {"probe", probe_rate * 1e-9},
                                  {"share", rate / probe_rate},
                                  {"median", seconds},
                                  {"spread", c.seconds.spread()},
                                  {"cpu", cpu_features().name},
                                  {"compiler", __VERSION__}});
  fmt::print("{}\n", line.dump());
  fmt::print(stderr,
             "{:<11} {:<7} {:>6} x {:<6} m {:<3} {:>9.1f} us {:>8.1f} GMAC/s {:>7.2f} GB/s "
             "{:>5.0f} % of read, spread {:.0f} %\n",
             c.name, c.isa, c.n, c.k, c.m, seconds * 1e6, macs / seconds * 1e-9, rate * 1e-9,
             100 * rate / probe_rate, 100 * c.seconds.spread());
}

void bench(int64_t n, int64_t k, int levels, int rounds) {
  Matrix matrix(n, k, levels);
  std::vector<Case> cases = {matrix.probe()};
  for (const std::string& name : available_sets()) {
    const KernelSet& set = **choose_kernels(name);
    if (name == "scalar" && n * k > (int64_t{1} << 24)) continue;  // seconds a call
    for (const int64_t tokens : {1, 2, 4, 16}) cases.push_back(matrix.dot(set, tokens));
  }
  for (int round = 0; round < rounds; ++round) {
    for (Case& c : cases) c.seconds.add(bench::time_of(c.run));
  }
  const double probe_rate = static_cast<double>(cases[0].bytes) / cases[0].seconds.median();
  for (const Case& c : cases) print(c, probe_rate);
}

}  // namespace
}  // namespace trilith::kernels

int main(int argc, char** argv) {
  const int rounds =
      argc > 1 ? static_cast<int>(std::max(1L, std::strtol(argv[1], nullptr, 10))) : 25;
  const trilith::kernels::FloatEnvironment environment;
  trilith::kernels::bench(768, 256, 3, rounds);      // a layer of the sample model
  trilith::kernels::bench(2560, 2560, 3, rounds);    // BitNet 2B; second-level cache and beyond
  trilith::kernels::bench(16384, 16384, 3, rounds);  // larger than the caches
  trilith::kernels::bench(2560, 2560, 255, rounds);  // int8
  return 0;
}
