#include "inspect/word_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace trilith::inspect {
namespace {

constexpr uint64_t kBytes = 0x0101010101010101ULL;
constexpr size_t kRowsASpill = 255;  // what a byte can count
constexpr size_t kBatch = 3;         // rows whose marks add up in two bits

double entropy_of(std::span<const uint64_t> counts) {
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  double bits = 0;
  for (const uint64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    bits -= share * std::log2(share);
  }
  return bits;
}

// Eight bytes at a time: the lowest bit of every field that equals the mark.
template <int kBits>
uint64_t marked(uint64_t word, uint64_t pattern) {
  uint64_t differs = word ^ pattern;
  if constexpr (kBits > 4) differs |= differs >> 4;
  if constexpr (kBits > 2) differs |= differs >> 2;
  if constexpr (kBits > 1) differs |= differs >> 1;
  constexpr uint64_t kLowest = kBytes * (kBits == 1   ? 0xff
                                         : kBits == 2 ? 0x55
                                         : kBits == 4 ? 0x11
                                                      : 0x01);
  return ~differs & kLowest;
}

uint64_t count_bits(uint64_t word) {
  word -= (word >> 1) & (kBytes * 0x55);
  word = (word & (kBytes * 0x33)) + ((word >> 2) & (kBytes * 0x33));
  return (word + (word >> 4)) & (kBytes * 0x0f);  // a count a byte
}

// Bits of a row of words.
uint32_t count_all(const std::vector<uint64_t>& words) {
  constexpr size_t kWords = 31;  // whose bytes, 8 bits each, add up in a byte
  constexpr uint64_t kEven = 0x00ff00ff00ff00ffULL;
  uint64_t total = 0;
  for (size_t begin = 0; begin < words.size(); begin += kWords) {
    uint64_t sum = 0;
    const size_t end = std::min(words.size(), begin + kWords);
    for (size_t w = begin; w < end; ++w) sum += count_bits(words[w]);
    sum = (sum & kEven) + ((sum >> 8) & kEven);
    total += (sum * 0x0001000100010001ULL) >> 48;
  }
  return static_cast<uint32_t>(total);
}

// Three rows at once: fields of two bits and more hold their sum, single bits after moving apart.
// The last of `marks` is scratch.
template <int kBits>
void add_batch(std::array<std::vector<uint64_t>, kBatch + 1>& marks,
               std::array<std::vector<uint64_t>, 8 / kBits>& sums) {
  constexpr int kWide = std::max(kBits, 2);
  constexpr uint64_t kField = kBytes * ((1U << kWide) - 1);
  constexpr int kHalves = kBits == 1 ? 2 : 1;
  constexpr uint64_t kKept = kBits == 1 ? kBytes * 0x55 : ~uint64_t{0};
  const size_t words = marks[0].size();
  for (int half = 0; half < kHalves; ++half) {
    for (size_t w = 0; w < words; ++w) {
      marks[kBatch][w] = ((marks[0][w] >> half) & kKept) + ((marks[1][w] >> half) & kKept) +
                         ((marks[2][w] >> half) & kKept);
    }
    const uint64_t* const three = marks[kBatch].data();
    for (int shift = 0; shift < 8; shift += kWide) {
      uint64_t* const of_slot = sums[static_cast<size_t>((shift + half) / kBits)].data();
      for (size_t w = 0; w < words; ++w) of_slot[w] += (three[w] >> shift) & kField;
    }
  }
}

template <int kBits>
void count_marks(std::span<const std::byte> bytes, WordStatistics& statistics) {
  constexpr size_t kSlots = 8 / kBits;
  const size_t rows = statistics.rows.size();
  const size_t width = bytes.size() / rows;
  const size_t words = (width + 7) / 8;
  const uint64_t pattern = kBytes * [&] {
    uint64_t byte = 0;
    for (size_t slot = 0; slot < kSlots; ++slot) byte |= statistics.mark << (slot * kBits);
    return byte;
  }();
  const uint64_t in_last = width % 8 == 0 ? ~uint64_t{0} : (uint64_t{1} << (8 * (width % 8))) - 1;
  std::array<std::vector<uint64_t>, kBatch + 1> marks;
  for (auto& row : marks) row.resize(words);
  std::array<std::vector<uint64_t>, kSlots> sums;  // bytes that count rows, of each slot
  for (auto& of_slot : sums) of_slot.resize(words);
  for (size_t n = 0; n < rows; n += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) {
      if (n + i >= rows) {
        std::fill(marks[i].begin(), marks[i].end(), uint64_t{0});
        continue;
      }
      marks[i].back() = 0;
      std::memcpy(marks[i].data(), bytes.data() + (n + i) * width, width);
      for (uint64_t& word : marks[i]) word = marked<kBits>(word, pattern);
      marks[i].back() &= in_last;
      statistics.rows[n + i] = count_all(marks[i]);
    }
    add_batch<kBits>(marks, sums);
    if (n % kRowsASpill != kRowsASpill - kBatch && n + kBatch < rows) continue;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      for (size_t k = 0; k < width; ++k) {
        const uint64_t sum = sums[slot][k / 8] >> (8 * (k % 8));
        statistics.columns[k * kSlots + slot] += static_cast<uint32_t>(sum & 255);
      }
      std::fill(sums[slot].begin(), sums[slot].end(), uint64_t{0});
    }
  }
}

// Values of the field that starts at bit `shift` of a byte.
void add_fields(const ByteCounts& bytes, int shift, std::span<uint64_t> counts) {
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    counts[(byte >> shift) & (counts.size() - 1)] += bytes[byte];
  }
}

}  // namespace

double WordStatistics::entropy() const { return entropy_of(counts); }

std::vector<double> WordStatistics::slot_entropy() const {
  std::vector<double> entropies;
  for (const ByteCounts& lane : lanes) {
    for (int shift = 0; shift < 8; shift += bits) {
      std::vector<uint64_t> own(counts.size());
      add_fields(lane, shift, own);
      entropies.push_back(entropy_of(own));
    }
  }
  return entropies;
}

WordStatistics word_statistics(std::span<const std::byte> bytes, size_t rows, int bits) {
  TRILITH_CHECK(bits == 1 || bits == 2 || bits == 4 || bits == 8);
  TRILITH_CHECK(rows > 0 && bytes.size() % rows == 0 && !bytes.empty());
  WordStatistics statistics;
  statistics.bits = bits;
  statistics.counts.resize(size_t{1} << bits);
  statistics.rows.resize(rows);
  statistics.columns.resize(bytes.size() / rows * static_cast<size_t>(8 / bits));
  add_lane_counts(bytes, statistics.lanes);
  for (const ByteCounts& lane : statistics.lanes) {
    for (int shift = 0; shift < 8; shift += bits) {
      add_fields(lane, shift, statistics.counts);
    }
  }
  statistics.mark =
      static_cast<size_t>(std::max_element(statistics.counts.begin(), statistics.counts.end()) -
                          statistics.counts.begin());
  switch (bits) {
    case 1:
      count_marks<1>(bytes, statistics);
      break;
    case 2:
      count_marks<2>(bytes, statistics);
      break;
    case 4:
      count_marks<4>(bytes, statistics);
      break;
    default:
      count_marks<8>(bytes, statistics);
      break;
  }
  return statistics;
}

}  // namespace trilith::inspect
