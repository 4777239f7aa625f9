#include "inspect/table_space.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "inspect/level_shape.h"
#include "inspect/zero_code.h"

namespace trilith::inspect {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::Symbol;
using Levels = std::vector<std::optional<double>>;

// What a table that is not the commonest of its kind is behind, to order what nothing else orders.
constexpr double kUnusual = 0.2;

// Against a table whose zero is none of the three codes that occur.
constexpr double kNoZero = 100;

// A table worse than this many nats a code is no table of these codes.
constexpr double kMostMisfit = 0.04;

void add_lists(std::vector<TableReading>& tables, const PackingSpec& bare) {
  const auto add = [&](const Levels& levels, double nats) {
    PackingSpec spec = bare;
    spec.code_table = CodeTable::list(levels);
    tables.push_back({std::move(spec), nats});
  };
  const std::optional<double> none;
  switch (bare.bits) {
    case 0:
      add({-1.0, 0.0, 1.0}, 0);
      add({0.0, 1.0, -1.0}, -kUnusual);
      break;
    case 1:
      add({-1.0, 1.0}, 0);
      break;
    case 2:
      add({-1.0, 0.0, 1.0, none}, 0);
      add({0.0, 1.0, -1.0, none}, -kUnusual / 2);
      add({0.0, 1.0, none, -1.0}, -kUnusual / 2);
      add({none, -1.0, 0.0, 1.0}, -kUnusual);
      add({-2.0, -1.0, 0.0, 1.0}, -kUnusual);
      add({-1.0, 0.0, 1.0, 2.0}, -kUnusual);
      add({0.0, 1.0, -2.0, -1.0}, -kUnusual);
      add({-3.0, -1.0, 1.0, 3.0}, -kUnusual);
      break;
    default:
      break;
  }
}

void add_rules(std::vector<TableReading>& tables, const PackingSpec& bare) {
  const auto add = [&](CodeTable table, Symbol symbol, double nats) {
    PackingSpec spec = bare;
    spec.code_table = std::move(table);
    if (spec.symbol == Symbol::kInt) spec.symbol = symbol;
    tables.push_back({std::move(spec), nats});
  };
  const int bits = bare.bits;
  if (bits < 3) return;
  using Kind = CodeTable::Kind;
  if (is_float(bare.container)) {
    add(CodeTable::rule(Kind::kNative), Symbol::kFloat, 0);
    return;
  }
  add(CodeTable::rule(Kind::kOffset, int64_t{1} << (bits - 1)), Symbol::kInt, 0);
  add(CodeTable::rule(Kind::kTwosComplement), Symbol::kInt, 0);
  if (bare.symbol != Symbol::kInt) return;
  add(CodeTable::rule(Kind::kSignMagnitude), Symbol::kInt, -kUnusual);
  if (bits == 4) add(CodeTable::rule(Kind::kE2M1), Symbol::kFloat, 0);
  if (bits == 8) {
    add(CodeTable::rule(Kind::kE4M3), Symbol::kFloat, 0);
    add(CodeTable::rule(Kind::kE5M2), Symbol::kFloat, -kUnusual);
  }
}

// Which of three codes is zero, in nats by code; nothing where more or fewer occur.
std::vector<std::pair<size_t, double>> zero_nats(const CodeStatistics& statistics) {
  std::vector<size_t> used;
  for (size_t code = 0; code < statistics.counts.size(); ++code) {
    if (statistics.counts[code] > 0) used.push_back(code);
  }
  if (used.size() != 3 || used.back() > 15) return {};
  std::array<uint64_t, 3> counts{};
  for (size_t i = 0; i < 3; ++i) counts[i] = statistics.counts[used[i]];
  std::vector<std::array<uint32_t, 3>> rows;
  for (const auto& row : statistics.rows)
    rows.push_back({row[used[0]], row[used[1]], row[used[2]]});
  const ZeroCodeFinding finding = find_zero_code(counts, rows);
  std::vector<std::pair<size_t, double>> nats;
  // How clearly rows tell the codes apart is no matter of the table.
  const double best = *std::max_element(finding.nats.begin(), finding.nats.end());
  for (size_t i = 0; i < 3; ++i) nats.emplace_back(used[i], finding.nats[i] - best);
  return nats;
}

// Weights scaled by groups are close to normal: the fourth moment over the squared second is three.
// Worth little, but it tells evenly spaced levels from those of a small float.
constexpr double kKurtosisWeight = 0.05;

double kurtosis_nats(const CodeStatistics& statistics, const Levels& levels) {
  double total = 0;
  double second = 0;
  double fourth = 0;
  for (size_t code = 0; code < levels.size(); ++code) {
    if (!levels[code]) continue;
    const double square = *levels[code] * *levels[code];
    const auto count = static_cast<double>(statistics.counts[code]);
    total += count;
    second += count * square;
    fourth += count * square * square;
  }
  if (statistics.used() < 7 || second == 0) return 0;
  // Outliers under the scale of a whole matrix make any tail heavy: beyond twice the normal one
  // says no more.
  const double distance = std::min(std::log(fourth * total / (second * second) / 3), std::log(2.0));
  return -kKurtosisWeight * total * distance * distance;
}

}  // namespace

std::vector<TableReading> table_readings(const PackingSpec& bare,
                                         const CodeStatistics& statistics) {
  std::vector<TableReading> tables;
  add_lists(tables, bare);
  add_rules(tables, bare);
  std::vector<TableReading> kept;
  const auto zeros = zero_nats(statistics);
  for (TableReading& table : tables) {
    if (!packing::validate(table.spec).ok()) continue;
    const auto levels = packing::levels_of(table.spec);
    // Of three codes the shape says only that two are equally frequent: zero_nats says it better.
    const double shape = level_shape_nats(statistics.counts, levels);
    const double nats = zeros.empty() || !std::isfinite(shape) ? shape : 0;
    if (nats < -kMostMisfit * static_cast<double>(statistics.total) - 20) continue;
    // A level that never occurs speaks against a table that has it.
    double idle = 0;
    for (size_t code = 0; code < levels.size() && levels.size() <= 4; ++code) {
      if (levels[code] && statistics.counts[code] == 0) idle += 10;
    }
    bool holds_zero = zeros.empty();
    for (const auto& [code, zero] : zeros) {
      if (code >= levels.size() || levels[code] != 0.0) continue;
      idle -= zero;
      holds_zero = true;
    }
    if (!holds_zero) idle += kNoZero;
    table.nats += nats - idle + kurtosis_nats(statistics, levels);
    kept.push_back(std::move(table));
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const TableReading& a, const TableReading& b) { return a.nats > b.nats; });
  return kept;
}

std::vector<PackingSpec> with_signs_turned(const PackingSpec& spec) {
  if (spec.code_table.kind != CodeTable::Kind::kList || spec.bits > 2) return {};
  PackingSpec turned = spec;
  bool symmetric = true;
  for (auto& level : turned.code_table.levels) {
    if (!level || *level == 0) continue;
    const auto& levels = spec.code_table.levels;
    symmetric = symmetric && std::find(levels.begin(), levels.end(), -*level) != levels.end();
    level = -*level;
  }
  if (!symmetric) return {};
  return {turned};
}

}  // namespace trilith::inspect
