#include "text/unicode.h"

#include <algorithm>

namespace trilith::text {
namespace {

constexpr std::string_view kCategoryNames[] = {
    "Cc", "Cf", "Cn", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl",
    "No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"};

template <typename Predicate>
CodePointSet set_where(Predicate matches) {
  const auto runs = code_point_runs();
  CodePointSet set;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!matches(runs[i])) continue;
    set.add(runs[i].first, i + 1 < runs.size() ? runs[i + 1].first - 1 : kLastCodePoint);
  }
  return set;
}

}  // namespace

uint8_t code_point_flags(uint32_t code_point) {
  const auto runs = code_point_runs();
  const auto next =
      std::upper_bound(runs.begin(), runs.end(), code_point,
                       [](uint32_t value, const CodePointRun& run) { return value < run.first; });
  return std::prev(next)->flags;
}

CodePointSet CodePointSet::one(uint32_t code_point) {
  CodePointSet set;
  set.add(code_point, code_point);
  return set;
}

CodePointSet CodePointSet::with_flag(CodePointFlag flag) {
  return set_where([flag](const CodePointRun& run) { return (run.flags & flag) != 0; });
}

std::optional<CodePointSet> CodePointSet::with_property(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {
      {"Letter", "L"}, {"Mark", "M"},  {"Number", "N"},    {"Punctuation", "P"},
      {"Symbol", "S"}, {"Other", "C"}, {"Separator", "Z"},
  };
  for (const auto& [long_name, short_name] : kLongNames) {
    if (name == long_name) name = short_name;
  }
  const bool known = std::any_of(
      std::begin(kCategoryNames), std::end(kCategoryNames), [name](std::string_view category) {
        return name == category || (name.size() == 1 && name[0] == category[0]);
      });
  if (!known) return std::nullopt;
  return set_where([name](const CodePointRun& run) {
    return kCategoryNames[run.category].substr(0, name.size()) == name;
  });
}

void CodePointSet::add(uint32_t first, uint32_t last) {
  // The first range that touches or follows [first, last]; usually the end.
  auto begin =
      std::lower_bound(ranges_.begin(), ranges_.end(), first,
                       [](const Range& range, uint32_t value) { return range.last + 1 < value; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  if (begin == end) {
    ranges_.insert(begin, {first, last});
  } else {
    *begin = {first, last};
    ranges_.erase(begin + 1, end);
  }
}

void CodePointSet::add(const CodePointSet& other) {
  for (const Range& range : other.ranges_) add(range.first, range.last);
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  uint32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) result.ranges_.push_back({next, kLastCodePoint});
  return result;
}

bool CodePointSet::contains(uint32_t code_point) const {
  const auto range =
      std::lower_bound(ranges_.begin(), ranges_.end(), code_point,
                       [](const Range& r, uint32_t value) { return r.last < value; });
  return range != ranges_.end() && range->first <= code_point;
}

}  // namespace trilith::text
