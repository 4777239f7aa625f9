#include "announce/code_figures.h"

#include <algorithm>
#include <cmath>

#include "base/byte_counts.h"

namespace trilith::announce {
namespace {

constexpr int64_t kSample = int64_t{1} << 19;  // weights that means are taken over
constexpr size_t kPage = 2048;                 // bytes, 4096 nibbles
constexpr size_t kMostPages = 4096;

std::array<uint64_t, 16> nibble_counts(std::span<const std::byte> bytes) {
  std::array<uint64_t, 16> counts{};
  ByteCounts of_bytes{};
  add_byte_counts(bytes, of_bytes);
  for (size_t byte = 0; byte < of_bytes.size(); ++byte) {
    counts[byte & 15] += of_bytes[byte];
    counts[byte >> 4] += of_bytes[byte];
  }
  return counts;
}

struct Moments {
  double sum = 0;  // of steps, their squares, and of weights
  double squares = 0;
  double weight_squares = 0;
  uint64_t zeros = 0;

  void add(double value, double scale, uint64_t times) {
    const auto weight = static_cast<double>(times);
    const double step = scale > 0 ? value / scale : 0;
    sum += weight * step;
    squares += weight * step * step;
    weight_squares += weight * value * value;
    zeros += value == 0 ? times : 0;
  }

  // Columns of row n that share a scale: long runs have fewer values than weights.
  void add_run(const packing::QuantMatrix& matrix, int64_t n, int64_t begin, int64_t end) {
    constexpr int64_t kLong = 128;
    const double scale = std::abs(matrix.scale_at(n, begin));
    if (end - begin < kLong) {
      for (int64_t k = begin; k < end; ++k) add(matrix.value(n, k), scale, 1);
      return;
    }
    const auto codes = std::span(matrix.codes)
                           .subspan(static_cast<size_t>(n * matrix.cols + begin),
                                    static_cast<size_t>(end - begin));
    ByteCounts counts{};
    add_byte_counts(codes, counts);
    for (size_t code = 0; code < counts.size(); ++code) {
      if (counts[code] == 0) continue;
      const auto first = std::find(codes.begin(), codes.end(), static_cast<uint8_t>(code));
      add(matrix.value(n, begin + (first - codes.begin())), scale, counts[code]);
    }
  }
};

}  // namespace

CodeFigures code_figures(const packing::QuantMatrix& matrix) {
  CodeFigures figures;
  figures.counts.assign(std::max<size_t>(matrix.levels.size(), 256), 0);
  ByteCounts counts{};
  add_byte_counts(matrix.codes, counts);
  std::copy(counts.begin(), counts.end(), figures.counts.begin());
  const int64_t wanted = std::max<int64_t>(1, kSample / matrix.cols);
  const int64_t stride = std::max<int64_t>(1, matrix.rows / wanted);
  Moments moments;
  for (int64_t n = 0; n < matrix.rows; n += stride) {
    for (int64_t begin = 0; begin < matrix.cols;) {
      int64_t end = begin + 1;
      const int64_t index = matrix.scale_index(n, begin);
      while (end < matrix.cols && matrix.column_scales.empty() &&
             matrix.scale_index(n, end) == index) {
        ++end;
      }
      moments.add_run(matrix, n, begin, end);
      begin = end;
    }
    figures.sampled += static_cast<uint64_t>(matrix.cols);
  }
  const auto count = static_cast<double>(std::max<uint64_t>(1, figures.sampled));
  figures.mean_step = moments.sum / count;
  figures.rms_step = std::sqrt(moments.squares / count);
  figures.rms_weight = std::sqrt(moments.weight_squares / count);
  figures.zero_share = static_cast<double>(moments.zeros) / count;
  return figures;
}

ScaleFigures scale_figures(std::span<const float> scales) {
  ScaleFigures figures;
  figures.count = static_cast<int64_t>(scales.size());
  if (scales.empty()) return figures;
  std::vector<float> sorted(scales.begin(), scales.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  figures.median = static_cast<double>(*middle);
  const auto [low, high] = std::minmax_element(scales.begin(), scales.end());
  figures.min = static_cast<double>(*low);
  figures.max = static_cast<double>(*high);
  for (const float scale : scales) {
    figures.negative += scale < 0 ? 1 : 0;
    figures.zero += scale == 0 ? 1 : 0;
  }
  return figures;
}

bool EvenSpread::is_even() const {
  return freedom > 0 && chi_square < freedom + 5 * std::sqrt(2 * freedom);
}

EvenSpread even_spread(std::span<const uint64_t> counts) {
  EvenSpread spread;
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  if (counts.size() < 2 || total <= 0) return spread;
  const double expected = total / static_cast<double>(counts.size());
  for (const uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    spread.chi_square += off * off / expected;
  }
  spread.freedom = static_cast<double>(counts.size() - 1);
  return spread;
}

RandomPages random_pages(std::span<const std::byte> bytes) {
  RandomPages result;
  const size_t pages = bytes.size() / kPage;
  if (pages < 2) return result;
  const size_t step = std::max<size_t>(1, pages / kMostPages);
  std::vector<std::pair<size_t, double>> statistics;
  std::array<uint64_t, 16> all{};
  for (size_t page = 0; page < pages; page += step) {
    const auto counts = nibble_counts(bytes.subspan(page * kPage, kPage));
    for (size_t i = 0; i < all.size(); ++i) all[i] += counts[i];
    statistics.emplace_back(page, even_spread(counts).chi_square);
  }
  // A page of codes like the whole has this much more than an even one, with a deviation of about
  // twice its root: 200 ± 28 stays five deviations above the 52 that is_even allows 15 degrees.
  const double typical = even_spread(all).chi_square / static_cast<double>(statistics.size());
  if (typical < 200) return result;
  result.pages = static_cast<int64_t>(statistics.size());
  for (const auto& [page, chi_square] : statistics) {
    if (!EvenSpread{chi_square, 15}.is_even()) continue;
    if (result.random++ == 0) result.first = static_cast<int64_t>(page * kPage);
  }
  return result;
}

}  // namespace trilith::announce
