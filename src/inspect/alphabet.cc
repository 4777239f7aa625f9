#include "inspect/alphabet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trilith::inspect {
namespace {

constexpr int kBase3Bytes = 243;
// A code of a ternary alphabet has at least this share; one below kStray is damage.
constexpr double kRarest = 0.01;
constexpr double kStray = 0.001;

void count_digits(Alphabet& alphabet, int number, uint64_t times) {
  for (int digit = 0; digit < 5; ++digit, number /= 3) {
    alphabet.counts[static_cast<size_t>(number % 3)] += times;
  }
}

// The number a byte of the ceil(q·256/243) map stands for, or -1.
int ceil256_number(int byte) {
  const int number = byte * kBase3Bytes / 256;
  return (number * 256 + kBase3Bytes - 1) / kBase3Bytes == byte ? number : -1;
}

}  // namespace

std::string_view cell_name(Cell cell) {
  switch (cell) {
    case Cell::kTwoBits:
      return "2-bit fields";
    case Cell::kBase3Plain:
      return "five base-3 digits a byte";
    case Cell::kBase3Ceil256:
      return "five base-3 digits a byte, scaled to 256";
    case Cell::kWholeByte:
      return "whole bytes";
    case Cell::kInline:
      return "blocks with inline scales";
    case Cell::kFloats:
      return "floats";
  }
  return "";
}

uint64_t Alphabet::total() const {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

std::vector<int> Alphabet::used() const {
  std::vector<int> codes;
  for (size_t code = 0; code < counts.size(); ++code) {
    if (counts[code] > 0) codes.push_back(static_cast<int>(code));
  }
  return codes;
}

Alphabet count_codes(const ByteHistogram& bytes, Cell cell) {
  Alphabet alphabet;
  const bool digits = cell == Cell::kBase3Plain || cell == Cell::kBase3Ceil256;
  alphabet.counts.resize(cell == Cell::kTwoBits ? 4 : digits ? 3 : 256);
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    const uint64_t times = bytes[byte];
    if (times == 0) continue;
    const int value = static_cast<int>(byte);
    switch (cell) {
      case Cell::kTwoBits:
        for (int shift = 0; shift < 8; shift += 2) {
          alphabet.counts[static_cast<size_t>((value >> shift) & 3)] += times;
        }
        break;
      case Cell::kInline:
      case Cell::kFloats:
      case Cell::kWholeByte:
        alphabet.counts[byte] += times;
        break;
      case Cell::kBase3Plain:
      case Cell::kBase3Ceil256: {
        const int number =
            cell == Cell::kBase3Plain ? (value < kBase3Bytes ? value : -1) : ceil256_number(value);
        if (number < 0) {
          alphabet.impossible += times;
        } else {
          count_digits(alphabet, number, times);
        }
        break;
      }
    }
  }
  return alphabet;
}

double byte_entropy(const ByteHistogram& bytes) {
  const double total =
      static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
  double entropy = 0;
  for (const uint64_t count : bytes) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    entropy -= share * std::log2(share);
  }
  return entropy;
}

TernaryVerdict judge_ternary(const Alphabet& alphabet) {
  TernaryVerdict verdict;
  const uint64_t total = alphabet.total() + alphabet.impossible;
  if (total == 0) {
    verdict.reason = "no codes";
    return verdict;
  }
  uint64_t in_use = 0;
  for (size_t code = 0; code < alphabet.counts.size(); ++code) {
    const uint64_t count = alphabet.counts[code];
    if (static_cast<double>(count) >= kRarest * static_cast<double>(total)) {
      verdict.codes.push_back(static_cast<int>(code));
      in_use += count;
    }
  }
  verdict.stray = total - in_use;
  const double stray_share = static_cast<double>(verdict.stray) / static_cast<double>(total);
  if (verdict.codes.size() != 3) {
    verdict.reason = fmt::format("{} of {} codes have a share of at least {}", verdict.codes.size(),
                                 alphabet.counts.size(), kRarest);
  } else if (verdict.stray == 0) {
    verdict.ternary = true;
  } else if (stray_share < kStray) {
    verdict.damaged = true;
    verdict.reason = fmt::format("{} codes outside the ternary alphabet", verdict.stray);
  } else {
    verdict.reason = fmt::format("a share of {:.4f} lies outside three codes", stray_share);
  }
  return verdict;
}

BellVerdict judge_bell(const ByteHistogram& bytes) {
  BellVerdict verdict;
  const double total =
      static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
  if (total == 0) return verdict;
  double best = 0;
  for (const int centre : {0, 128}) {
    std::array<double, 4> shares{};
    double positive = 0;
    double negative = 0;
    for (int byte = 0; byte < 256; ++byte) {
      const int value = centre == 0 ? static_cast<int8_t>(byte) : byte - 128;
      const double share = static_cast<double>(bytes[static_cast<size_t>(byte)]) / total;
      shares[static_cast<size_t>(std::min(std::abs(value), 127) / 32)] += share;
      (value > 0 ? positive : negative) += value == 0 ? 0 : share;
    }
    const bool falling =
        shares[0] > 1.2 * shares[1] && shares[1] > 1.2 * shares[2] && shares[2] > 1.2 * shares[3];
    const bool balanced = std::abs(positive - negative) < 0.1;
    if (falling && balanced && shares[0] > best) {
      best = shares[0];
      verdict = {true, centre, shares};
    }
  }
  return verdict;
}

}  // namespace trilith::inspect
