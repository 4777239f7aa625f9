#include "inspect/module_figures.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/byte_counts.h"
#include "base/rounded.h"
#include "inspect/numbers.h"
#include "inspect/overdispersion.h"
#include "inspect/word_statistics.h"

namespace trilith::inspect {

void add_figures(const packing::QuantMatrix& matrix, ModuleSheet& sheet) {
  std::array<uint64_t, 256> counts{};
  std::vector<double> of_rows;
  const auto cols = static_cast<size_t>(matrix.cols);
  uint64_t zeros = 0;
  for (size_t begin = 0; cols > 0 && begin + cols <= matrix.codes.size(); begin += cols) {
    ByteCounts row{};
    add_byte_counts(std::span(matrix.codes).subspan(begin, cols), row);
    uint64_t own = 0;
    for (size_t code = 0; code < row.size(); ++code) {
      counts[code] += row[code];
      if (code < matrix.levels.size() && matrix.levels[code] == 0.0) own += row[code];
    }
    zeros += own;
    of_rows.push_back(static_cast<double>(own) / static_cast<double>(cols));
  }
  sheet.code_counts.clear();
  for (size_t code = 0; code < std::min(counts.size(), matrix.levels.size()); ++code) {
    sheet.code_counts.push_back({static_cast<int>(code), matrix.levels[code], counts[code]});
  }
  if (!of_rows.empty()) {
    sheet.zero_share =
        rounded(static_cast<double>(zeros) / static_cast<double>(matrix.codes.size()));
    const auto [low, high] = std::minmax_element(of_rows.begin(), of_rows.end());
    const std::array<double, 2> ends{*low, *high};
    sheet.row_zero_share =
        std::array{rounded(ends[0]), rounded(median(std::move(of_rows))), rounded(ends[1])};
  }
  sheet.zero_blocks = count_zero_blocks(matrix);
  const auto unused = matrix.unused_codes();
  sheet.unused_count = unused.count;
  sheet.unused_first = unused.first;
  if (!matrix.scales.empty()) {
    const auto [low, high] = std::minmax_element(matrix.scales.begin(), matrix.scales.end());
    sheet.scale =
        std::array{static_cast<double>(*low),
                   median(std::vector<double>(matrix.scales.begin(), matrix.scales.end())),
                   static_cast<double>(*high)};
  }
}

void add_word_figures(const TensorView& codes, int bits, ModuleSheet& sheet) {
  if (codes.bytes.empty()) return;
  const auto lines = static_cast<size_t>(codes.shape.size() < 2 ? 1 : codes.shape.front());
  const size_t rows = lines > 0 && codes.bytes.size() % lines == 0 ? lines : 1;
  const bool whole = bits == 1 || bits == 2 || bits == 4 || bits == 8;
  const WordStatistics words = word_statistics(codes.bytes, rows, whole ? bits : 8);
  const std::vector<double> slots = words.slot_entropy();
  const auto [least, most] = std::minmax_element(slots.begin(), slots.end());
  const auto ratio = [](const std::vector<uint32_t>& counts, size_t trials) {
    return rounded(variance_ratio({counts.begin(), counts.end()}, static_cast<double>(trials)));
  };
  Evidence evidence;
  evidence.field = "words";
  evidence.test = "fields of the stored words";
  evidence.numbers = Json::object({{"bits", words.bits},
                                   {"entropy", rounded(words.entropy())},
                                   {"slot_least", rounded(*least)},
                                   {"slot_most", rounded(*most)},
                                   {"row_ratio", ratio(words.rows, words.columns.size())},
                                   {"column_ratio", ratio(words.columns, rows)}});
  sheet.evidence.push_back(std::move(evidence));
}

}  // namespace trilith::inspect
