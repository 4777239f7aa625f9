#include "base/byte_counts.h"

#include <algorithm>
#include <cstring>

namespace trilith {
namespace {

constexpr size_t kLanes = 32;
constexpr size_t kBlock = 255 * kLanes;  // no lane of 8 bits overflows
constexpr size_t kTables = 4;
constexpr size_t kSpill = size_t{1} << 32;  // bytes until a table of 32 bits may overflow
constexpr size_t kFewest = 64;              // below, tables cost more than they save

// Counts in lanes of bytes, which vectorise; `bytes` below 4, at most kBlock of them.
void count_small(const uint8_t* bytes, size_t count, ByteCounts& counts) {
  std::array<uint8_t, kLanes> ones{};
  std::array<uint8_t, kLanes> twos{};
  std::array<uint8_t, kLanes> threes{};
  const size_t whole = count / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const uint8_t byte = bytes[i + lane];
      ones[lane] = static_cast<uint8_t>(ones[lane] + (byte == 1));
      twos[lane] = static_cast<uint8_t>(twos[lane] + (byte == 2));
      threes[lane] = static_cast<uint8_t>(threes[lane] + (byte == 3));
    }
  }
  std::array<uint64_t, 3> sums{};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    sums[0] += ones[lane];
    sums[1] += twos[lane];
    sums[2] += threes[lane];
  }
  counts[0] += whole - sums[0] - sums[1] - sums[2];
  for (size_t code = 1; code < 4; ++code) counts[code] += sums[code - 1];
  for (size_t i = whole; i < count; ++i) ++counts[bytes[i]];
}

class Tables {
 public:
  void add(const uint8_t* bytes, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      uint64_t eight = 0;
      std::memcpy(&eight, bytes + i, 8);
      for (size_t j = 0; j < 8; ++j) ++tables_[j % kTables][(eight >> (8 * j)) & 255];
    }
    for (size_t lane = 0; i < count; ++i, ++lane) ++tables_[lane % kTables][bytes[i]];
    used_ = true;
  }
  const auto& tables() const { return tables_; }
  void finish(ByteCounts& counts) const {
    if (!used_) return;
    for (const auto& table : tables_) {
      for (size_t byte = 0; byte < 256; ++byte) counts[byte] += table[byte];
    }
  }

 private:
  std::array<std::array<uint32_t, 256>, kTables> tables_{};
  bool used_ = false;
};

bool all_below_four(const uint8_t* bytes, size_t count) {
  uint8_t any = 0;
  for (size_t i = 0; i < count; ++i) any |= bytes[i];
  return any < 4;
}

}  // namespace

void add_byte_counts(std::span<const uint8_t> bytes, ByteCounts& counts) {
  if (bytes.size() < kFewest) {
    for (const uint8_t byte : bytes) ++counts[byte];
    return;
  }
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kSpill));
    Tables tables;
    for (size_t begin = 0; begin < part.size(); begin += kBlock) {
      const size_t count = std::min(kBlock, part.size() - begin);
      if (all_below_four(part.data() + begin, count)) {
        count_small(part.data() + begin, count, counts);
      } else {
        tables.add(part.data() + begin, count);
      }
    }
    tables.finish(counts);
    bytes = bytes.subspan(part.size());
  }
}

void add_byte_counts(std::span<const std::byte> bytes, ByteCounts& counts) {
  add_byte_counts(
      std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
      counts);
}

void add_lane_counts(std::span<const std::byte> bytes, LaneCounts& lanes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kSpill));
    Tables tables;
    tables.add(reinterpret_cast<const uint8_t*>(part.data()), part.size());
    for (size_t lane = 0; lane < kTables; ++lane) {
      for (size_t byte = 0; byte < 256; ++byte) lanes[lane][byte] += tables.tables()[lane][byte];
    }
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace trilith
