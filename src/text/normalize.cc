// Canonical composition and decomposition (Unicode §3.11) over the generated table. Hangul
// syllables are computed (§3.12).
#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "text/unicode.h"

namespace trilith::text {
namespace {

constexpr uint32_t kSBase = 0xac00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11a7;
constexpr uint32_t kLCount = 19, kVCount = 21, kTCount = 28, kSCount = kLCount * kVCount * kTCount;

struct CodePoint {
  uint32_t value;
  uint8_t combining_class;
};

uint8_t combining_class(uint32_t code_point) {
  const auto runs = mark_runs();
  const auto run =
      std::lower_bound(runs.begin(), runs.end(), code_point,
                       [](const MarkRun& mark, uint32_t value) { return mark.last < value; });
  return run != runs.end() && run->first <= code_point ? run->combining_class : uint8_t{0};
}

void decompose(uint32_t code_point, std::vector<CodePoint>& out) {
  if (code_point - kSBase < kSCount) {  // unsigned: false below kSBase
    const uint32_t index = code_point - kSBase;
    out.push_back({kLBase + index / (kVCount * kTCount), 0});
    out.push_back({kVBase + index % (kVCount * kTCount) / kTCount, 0});
    if (index % kTCount != 0) out.push_back({kTBase + index % kTCount, 0});
    return;
  }
  const auto all = decompositions();
  const auto found = std::lower_bound(
      all.begin(), all.end(), code_point,
      [](const Decomposition& entry, uint32_t value) { return entry.code_point < value; });
  if (found == all.end() || found->code_point != code_point) {
    out.push_back({code_point, combining_class(code_point)});
    return;
  }
  decompose(found->first, out);
  if (found->second != 0) decompose(found->second, out);
}

std::vector<CodePoint> decompose(std::string_view text) {
  std::vector<CodePoint> points;
  points.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) decompose(next_code_point(text, offset), points);
  // Marks between two starters in the order of their classes.
  for (size_t i = 0; i < points.size();) {
    if (points[i].combining_class == 0) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < points.size() && points[end].combining_class != 0) ++end;
    std::stable_sort(points.begin() + static_cast<ptrdiff_t>(i),
                     points.begin() + static_cast<ptrdiff_t>(end),
                     [](const CodePoint& a, const CodePoint& b) {
                       return a.combining_class < b.combining_class;
                     });
    i = end;
  }
  return points;
}

using Compositions = std::unordered_map<uint64_t, uint32_t>;

const Compositions& compositions() {
  static const Compositions kCompositions = [] {
    Compositions map;
    for (const Decomposition& entry : decompositions()) {
      if (entry.composes != 0) {
        map.emplace(uint64_t{entry.first} << 32 | entry.second, entry.code_point);
      }
    }
    return map;
  }();
  return kCompositions;
}

// The composite of a pair, or 0.
uint32_t compose(uint32_t first, uint32_t second) {
  if (first - kLBase < kLCount && second - kVBase < kVCount) {
    return kSBase + ((first - kLBase) * kVCount + (second - kVBase)) * kTCount;
  }
  if (first - kSBase < kSCount && (first - kSBase) % kTCount == 0 &&
      second - kTBase - 1 < kTCount - 1) {
    return first + (second - kTBase);
  }
  const auto found = compositions().find(uint64_t{first} << 32 | second);
  return found == compositions().end() ? 0 : found->second;
}

std::string to_text(const std::vector<CodePoint>& points) {
  std::string text;
  text.reserve(points.size());
  for (const CodePoint& point : points) append_utf8(text, point.value);
  return text;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

}  // namespace

std::string to_nfd(std::string_view text) {
  return is_ascii(text) ? std::string(text) : to_text(decompose(text));
}

std::string to_nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  std::vector<CodePoint> points = decompose(text);
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t kept = 0;
  size_t starter = kNone;
  int last_class = -1;  // of the mark kept last since the starter; -1 right behind it
  for (const CodePoint point : points) {
    if (starter != kNone && last_class < static_cast<int>(point.combining_class)) {
      const uint32_t composite = compose(points[starter].value, point.value);
      if (composite != 0) {
        points[starter].value = composite;
        continue;
      }
    }
    if (point.combining_class == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = point.combining_class;
    }
    points[kept++] = point;
  }
  points.resize(kept);
  return to_text(points);
}

}  // namespace trilith::text
