#include "transform/code_choices.h"

#include <algorithm>
#include <cmath>

namespace trilith::transform {

using packing::Zero;

namespace {

bool fits(const Alphabet& alphabet, const std::vector<double>& levels, const Choice& choice) {
  const auto moved = [&](double level) { return level * choice.multiplier + choice.zero; };
  if (!alphabet.code_of(moved(levels.front())) || !alphabet.code_of(moved(levels.back()))) {
    return false;
  }
  return std::ranges::all_of(
      levels, [&](double level) { return alphabet.code_of(moved(level)).has_value(); });
}

}  // namespace

Alphabet::Alphabet(const packing::QuantMatrix& matrix) {
  for (size_t code = 0; code < matrix.levels.size(); ++code) {
    if (!matrix.levels[code]) continue;
    double level = *matrix.levels[code];
    if (matrix.zero.kind == Zero::Kind::kConstant) level -= static_cast<double>(matrix.zero.value);
    codes_.emplace(level + 0.0, static_cast<uint8_t>(code));  // −0 is 0
  }
}

std::optional<uint8_t> Alphabet::code_of(double level) const {
  const auto found = codes_.find(level + 0.0);
  return found != codes_.end() ? std::optional(found->second) : std::nullopt;
}

bool has_zero_points(Zero::Kind kind) {
  return kind != Zero::Kind::kNone && kind != Zero::Kind::kConstant;
}

bool is_affine(Zero::Kind kind) {
  return kind == Zero::Kind::kFloatBias || kind == Zero::Kind::kFloatShift;
}

std::vector<double> zero_candidates(const Zero& zero, const Alphabet& alphabet,
                                    std::optional<double> own) {
  if (!has_zero_points(zero.kind)) return {0.0};
  const double middle = std::ceil((alphabet.lowest() + alphabet.highest()) / 2);
  std::vector<double> all;
  if (is_affine(zero.kind)) {
    all.push_back(0);
  } else {
    if (own) all.push_back(*own);
    all.push_back(middle);
  }
  for (double power = 1; power <= 128; power *= 2) all.push_back(power);
  for (double value = std::ceil(alphabet.lowest()); value <= alphabet.highest(); value += 1) {
    all.push_back(value);
  }
  if (zero.kind == Zero::Kind::kInteger) {
    const double low = zero.bits == 0 ? -kLargestZero : zero.stored_minus_one ? 1 : 0;
    const double high = zero.bits == 0 ? kLargestZero : std::ldexp(1.0, zero.bits) - 1 + low;
    std::erase_if(all, [&](double value) {
      return value < low || value > high || value != std::floor(value);
    });
  }
  return all;
}

std::vector<Choice> choices_for(const Alphabet& alphabet, const std::vector<double>& levels,
                                const std::vector<double>& zeros) {
  std::vector<Choice> choices;
  for (const double multiplier : {1.0, -1.0}) {
    for (const double zero : zeros) {
      if (fits(alphabet, levels, {multiplier, zero})) choices.push_back({multiplier, zero});
    }
  }
  if (!choices.empty()) return choices;
  const double largest = std::max(std::fabs(levels.front()), std::fabs(levels.back()));
  if (largest == 0) return choices;
  for (const double zero : zeros) {
    for (const auto& [level, code] : alphabet.codes()) {
      const Choice choice{(level - zero) / largest, zero};
      if (choice.multiplier != 0 && fits(alphabet, levels, choice)) choices.push_back(choice);
    }
  }
  return choices;
}

}  // namespace trilith::transform
