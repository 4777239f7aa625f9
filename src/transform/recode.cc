#include "transform/recode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <optional>

#include "packing/codec.h"
#include "packing/numbers.h"
#include "transform/code_choices.h"

namespace trilith::transform {
namespace {

using packing::PackingSpec;
using packing::QuantMatrix;
using packing::Scale;
using packing::Zero;

size_t at(int64_t index) { return static_cast<size_t>(index); }

// w = level · step + bias: what the elements of one stored scale have in common.
struct Step {
  double step = 1;
  double zero = 0;  // taken off the level of a code first
  double bias = 0;
  bool operator==(const Step&) const = default;
};

// After so many refusals the others are only counted.
constexpr int64_t kThoroughRefusals = 16;

Step step_of(const QuantMatrix& source, int64_t index, int64_t n, int64_t k) {
  Step step;
  step.step = source.scale_at(n, k);
  const double zero = source.zeros.empty() ? 0.0 : static_cast<double>(source.zeros[at(index)]);
  switch (source.zero.kind) {
    case Zero::Kind::kNone:
      break;
    case Zero::Kind::kConstant:
      step.zero = static_cast<double>(source.zero.value);
      break;
    case Zero::Kind::kInteger:
    case Zero::Kind::kFloat:
      step.zero = zero;
      break;
    case Zero::Kind::kFloatBias:
      step.bias = zero;
      break;
    case Zero::Kind::kFloatShift:
      step.bias = -zero;
      break;
  }
  // A bias that is a whole number of steps is a zero point.
  const double steps = -step.bias / step.step;
  if (step.bias != 0 && steps == std::floor(steps) && std::fabs(steps) <= kLargestZero &&
      steps * step.step == -step.bias) {
    step.zero = steps;
    step.bias = 0;
  }
  return step;
}

// What lies under one scale of the target.
struct Cell {
  std::optional<Step> step;    // of the elements so far, zero points apart
  double zero = 0;             // the source's own
  std::vector<double> levels;  // that occur, ordered; zero points taken off
  int64_t first = -1;          // flat index of the first element
  bool is_settled = false;     // false: nothing but zeros so far, so any scale will do
};

void add_level(std::vector<double>& levels, double level) {
  const auto place = std::ranges::lower_bound(levels, level);
  if (place == levels.end() || *place != level) levels.insert(place, level);
}

class Recoder {
 public:
  Recoder(const QuantMatrix& source, const PackingSpec& target)
      : source_(source), target_(target) {}

  Recoded run() {
    auto blank = packing::blank_matrix(target_, source_.rows, source_.cols);
    if (!blank.ok()) {
      result_.losses.push_back({"the shape", 0, blank.error().to_string()});
      return std::move(result_);
    }
    result_.matrix = std::move(blank).value();
    if (!source_.group_index.empty() && target_.group_index) {
      result_.matrix.group_index = source_.group_index;
    }
    const bool both_rank_one = source_.scale.index == Scale::Index::kRankOne &&
                               target_.scale.index == Scale::Index::kRankOne;
    if (both_rank_one) {
      result_.matrix.column_scales = source_.column_scales;
    } else {
      std::ranges::fill(result_.matrix.column_scales, 1.0F);
    }
    column_factors_ = both_rank_one;
    gather();
    if (!result_.losses.empty()) return std::move(result_);
    take_table();
    choose_global();
    choose_scales();
    if (result_.losses.empty()) write_codes();
    if (result_.losses.empty()) compare();
    return std::move(result_);
  }

 private:
  // Scale of element (n, k) as the target's cell sees it.
  Step step_at(int64_t index, int64_t n, int64_t k) const {
    Step step = step_of(source_, index, n, k);
    if (column_factors_) step.step = static_cast<double>(source_.scales[at(index)]);
    return step;
  }

  void gather() {
    QuantMatrix& matrix = result_.matrix;
    const bool no_scale = matrix.scale.index == Scale::Index::kNone;
    cells_.resize(no_scale ? 1 : matrix.scales.size());
    zeros_of_.assign(std::max<size_t>(source_.scales.size(), 1), 0.0);
    const bool each_its_own = source_.scale.index == Scale::Index::kRankOne && !column_factors_;
    std::bitset<256> used;
    int64_t mixed = 0;
    std::string first_mixed;
    for (int64_t n = 0; n < source_.rows; ++n) {
      for (int64_t k = 0; k < source_.cols;) {
        const int64_t from = source_.scale_index(n, k);
        const int64_t to = matrix.scale_index(n, k);
        const int64_t begin = k;
        used.reset();
        do {
          used.set(source_.codes[at(n * source_.cols + k)]);
          ++k;
        } while (k < source_.cols && !each_its_own && source_.scale_index(n, k) == from &&
                 matrix.scale_index(n, k) == to);
        if (add(cells_[at(to)], used, from, n, begin)) continue;
        ++mixed;
        if (first_mixed.empty()) first_mixed = place(n * source_.cols + begin);
      }
    }
    if (mixed > 0) {
      lose("runs of weights whose scale differs from others that would share one scale", mixed,
           first_mixed);
    }
  }

  // False when the elements have another scale than those before them in the cell.
  bool add(Cell& cell, const std::bitset<256>& used, int64_t from, int64_t n, int64_t k) {
    Step step = step_at(from, n, k);
    const double zero = std::exchange(step.zero, 0.0);
    zeros_of_[at(from)] = zero;
    std::vector<double> levels;
    for (size_t code = 0; code < source_.levels.size() && code < 256; ++code) {
      if (used[code]) levels.push_back(source_.levels[code].value_or(0) - zero);
    }
    const bool nothing = step.bias == 0 && std::ranges::all_of(levels, [&](double level) {
                           return level == 0 || step.step == 0;
                         });
    if (cell.first < 0) cell.first = n * source_.cols + k;
    if (!cell.step || (!cell.is_settled && !nothing)) {
      cell.step = step;
      cell.zero = zero;
    } else if (!nothing && *cell.step != step) {
      return false;
    }
    if (nothing) levels = {0};
    for (const double level : levels) add_level(cell.levels, level);
    cell.is_settled = cell.is_settled || !nothing;
    return true;
  }

  // A table in the file takes any levels: those of the source.
  void take_table() {
    if (target_.code_table.kind != packing::CodeTable::Kind::kTensor) return;
    std::vector<double> all;
    for (const Cell& cell : cells_) {
      for (const double level : cell.levels) add_level(all, level);
    }
    auto& levels = result_.matrix.levels;
    if (all.size() > levels.size()) {
      lose(fmt::format("levels beyond the {} of a table", levels.size()),
           static_cast<int64_t>(all.size() - levels.size()), fmt::format("{}", all.back()));
      return;
    }
    for (size_t code = 0; code < levels.size(); ++code) {
      levels[code] = all[std::min(code, all.size() - 1)];
    }
  }

  // One more scale of the whole matrix: the source's own, or the one that all cells share.
  void choose_global() {
    if (target_.scale.global == Scale::Global::kNone) return;
    double global = 1;
    if (source_.scale.global != Scale::Global::kNone) {
      global = static_cast<double>(source_.global_scale);
      if (source_.scale.global == Scale::Global::kDivide) global = 1 / global;
    } else {
      const auto same = [&](const Cell& cell) {
        return !cell.step || cell.step->step == cells_.front().step->step;
      };
      if (cells_.front().step && std::ranges::all_of(cells_, same)) {
        global = cells_.front().step->step;
      }
    }
    if (global == 0) global = 1;
    const bool divides = target_.scale.global == Scale::Global::kDivide;
    result_.matrix.global_scale = static_cast<float>(divides ? 1 / global : global);
    global_ = static_cast<double>(result_.matrix.global_scale);
    if (divides) global_ = 1 / global_;
  }

  // What is stored for an effective scale, or nothing when the type does not hold it. F32 may
  // round: compare() has the last word.
  std::optional<float> stored_scale(double effective) const {
    const Scale& scale = target_.scale;
    const double step = effective / global_;
    double stored = step / scale.factor;
    if (scale.op == Scale::Op::kDivide) {
      if (step == 0) return std::nullopt;
      stored = 1 / (step * scale.factor);
    }
    if (scale.op == Scale::Op::kMultiplyPowerOfTwo) {
      if (stored <= 0) return std::nullopt;
      stored = std::log2(stored);
      if (stored != std::floor(stored)) return std::nullopt;
    }
    return held(scale.dtype, stored);
  }

  static std::optional<float> held(DType dtype, double value) {
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(narrow)) return std::nullopt;
    std::byte element[8];
    if (dtype == DType::kF32) return narrow;
    if (!packing::store_number(dtype, static_cast<double>(narrow), element).ok()) {
      return std::nullopt;
    }
    return narrow;
  }

  bool is_native_step() const { return target_.scale.index == Scale::Index::kNone; }

  // Whether scale and zero point are exact under a choice.
  bool number_fits(const Cell& cell, const Choice& choice) const {
    const double step = cell.step->step / choice.multiplier;
    if (is_native_step() && step != target_.scale.factor) return false;
    if (!is_native_step() && !stored_scale(step)) return false;
    return !has_zero_points(target_.zero.kind) || stored_zero(cell, choice).has_value();
  }

  std::optional<float> stored_zero(const Cell& cell, const Choice& choice) const {
    const double step = cell.step->step / choice.multiplier;
    switch (target_.zero.kind) {
      case Zero::Kind::kInteger:
        return static_cast<float>(choice.zero);
      case Zero::Kind::kFloat:
        return held(target_.zero.dtype, choice.zero);
      case Zero::Kind::kFloatBias:
        return held(target_.zero.dtype, cell.step->bias - choice.zero * step);
      case Zero::Kind::kFloatShift:
        return held(target_.zero.dtype, choice.zero * step - cell.step->bias);
      default:
        return 0.0F;
    }
  }

  void choose_scales() {
    const Alphabet alphabet(result_.matrix);
    choices_.resize(cells_.size());
    struct Tally {
      int64_t count = 0;
      std::string first;
      void note(std::string where) {
        if (count++ == 0) first = std::move(where);
      }
    } levels, scales, biases;
    for (size_t i = 0; i < cells_.size(); ++i) {
      Cell& cell = cells_[i];
      if (!cell.step || alphabet.empty()) continue;  // no element has this scale
      const auto where = [&](double value) {
        return fmt::format("{} at {}", value, place(cell.first));
      };
      if (cell.step->bias != 0 && !is_affine(target_.zero.kind)) {
        biases.note(where(cell.step->bias));
        continue;
      }
      // A refusal is certain after the first that do not fit: the rest is counted the cheap way.
      auto zeros = zero_candidates(target_.zero, alphabet, own_zero(cell));
      if (levels.count > kThoroughRefusals) zeros.resize(1);
      const std::vector<Choice> choices = choices_for(alphabet, cell.levels, zeros);
      const auto choice = std::ranges::find_if(
          choices, [&](const Choice& candidate) { return number_fits(cell, candidate); });
      if (choice != choices.end()) {
        write_cell(i, cell, *choice);
      } else if (!choices.empty()) {
        scales.note(where(cell.step->step));
      } else {
        levels.note(fmt::format("{} to {} at {}", cell.levels.front(), cell.levels.back(),
                                place(cell.first)));
      }
    }
    if (biases.count > 0)
      lose("offsets that are no whole number of steps", biases.count, biases.first);
    if (levels.count > 0) {
      lose("scales whose levels the table of the format does not hold", levels.count, levels.first);
    }
    if (scales.count > 0) {
      lose(fmt::format("scales or zero points that {} does not hold",
                       is_native_step() ? "a format without scales"
                                        : std::string(dtype_name(target_.scale.dtype))),
           scales.count, scales.first);
    }
  }

  // The source's own zero point, when the target's table is as large, so that codes stay.
  std::optional<double> own_zero(const Cell& cell) const {
    if (source_.levels.size() != result_.matrix.levels.size()) return std::nullopt;
    return cell.zero;
  }

  void write_cell(size_t index, const Cell& cell, const Choice& choice) {
    choices_[index] = choice;
    QuantMatrix& matrix = result_.matrix;
    if (!is_native_step())
      matrix.scales[index] = *stored_scale(cell.step->step / choice.multiplier);
    if (!matrix.zeros.empty()) matrix.zeros[index] = *stored_zero(cell, choice);
  }

  void write_codes() {
    QuantMatrix& matrix = result_.matrix;
    const Alphabet alphabet(matrix);
    std::array<uint8_t, 256> code_of{};
    for (int64_t n = 0; n < source_.rows; ++n) {
      int64_t from = -1;
      int64_t to = -1;
      for (int64_t k = 0; k < source_.cols; ++k) {
        const int64_t from_here = source_.scale_index(n, k);
        const int64_t to_here = matrix.scale_index(n, k);
        if (from_here != from || to_here != to) {
          from = from_here;
          to = to_here;
          const Choice& choice = choices_[at(to)];
          const bool vanishes =
              source_.scale.index != Scale::Index::kNone && source_.scale_at(n, k) == 0;
          for (size_t code = 0; code < source_.levels.size() && code < 256; ++code) {
            if (!source_.levels[code]) continue;
            const double level = vanishes ? 0.0 : *source_.levels[code] - zeros_of_[at(from)];
            code_of[code] = alphabet.code_of(level * choice.multiplier + choice.zero).value_or(0);
          }
        }
        const size_t i = at(n * source_.cols + k);
        matrix.codes[i] = code_of[source_.codes[i]];
      }
    }
  }

  void compare() {
    const std::vector<float> before = source_.dense();
    const std::vector<float> after = result_.matrix.dense();
    int64_t changed = 0;
    std::string first;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      if (changed++ == 0) {
        first =
            fmt::format("{} becomes {} at {}", before[i], after[i], place(static_cast<int64_t>(i)));
      }
    }
    if (changed > 0) {
      lose(fmt::format("weights that change under scales rounded to {}",
                       dtype_name(target_.scale.dtype)),
           changed, first);
    }
  }

  void lose(std::string what, int64_t count, std::string first) {
    result_.losses.push_back({std::move(what), count, std::move(first)});
  }

  std::string place(int64_t flat) const {
    return fmt::format("row {}, column {}", flat / source_.cols, flat % source_.cols);
  }

  const QuantMatrix& source_;
  const PackingSpec& target_;
  Recoded result_;
  bool column_factors_ = false;
  double global_ = 1;
  std::vector<Cell> cells_;
  std::vector<Choice> choices_;
  std::vector<double> zeros_of_;  // of each source scale
};

}  // namespace

Recoded recode(const QuantMatrix& source, const PackingSpec& target) {
  return Recoder(source, target).run();
}

}  // namespace trilith::transform
