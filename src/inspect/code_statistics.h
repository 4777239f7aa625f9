// What a matrix of codes looks like before anything is known of levels: how many nats the reading
// saves against raw bytes, and how little weights it resembles. Quantised weights are drawn alike
// in every slot of a word and all over the tensor, and neighbours say nothing of each other; text,
// pictures, counters and bytes of another format fail on one of these.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inspect/contingency.h"
#include "packing/spec.h"

namespace trilith::inspect {

using CodeHistogram = std::array<uint64_t, 256>;

struct CodeStatistics {
  CodeHistogram counts{};
  uint64_t total = 0;
  // Of each row, how often each of the codes 0 … 15 occurs.
  std::vector<std::array<uint32_t, 16>> rows;
  double description_nats = 0;  // entropy of the codes and the cost of their histogram
  double entropy = 0;           // nats a code
  // Nats a code that one learns from the slot, the place in the tensor, the code before, beyond
  // what a random slot, place or code of the same row tells: 0 where lines are exchangeable,
  // however much they differ.
  double slot = 0;
  double place = 0;
  double neighbour = 0;

  int used() const;  // codes that occur
};

// Accumulates over the modules of a class.
class CodeCounter {
 public:
  explicit CodeCounter(const packing::PackingSpec& spec) : spec_(spec) {}
  // Codes [rows, cols] of one module.
  void add(std::span<const uint8_t> codes, int64_t rows, int64_t cols);
  CodeStatistics finish() const;

 private:
  static constexpr size_t kPlaces = 8;
  using Table = std::array<CountRow, 64>;
  struct Gain {
    double nats = 0;
    double codes = 0;
  };
  static void accumulate(Gain& gain, const Table& table);

  struct Context {
    Gain own;
    Gain control;
    double share() const;
  };

  const packing::PackingSpec& spec_;
  CodeStatistics sums_;
  Context slot_;
  Context place_;
  Context neighbour_;
};

// Why these cannot be quantised weights, or empty. `table`: levels lie in the file, and may have
// been chosen so that all codes are as frequent.
std::string unlike_weights(const CodeStatistics& statistics, int bits, bool table);

}  // namespace trilith::inspect
