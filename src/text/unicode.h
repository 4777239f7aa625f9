// Questions about code points, answered from the generated table, and sets of code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode_tables.h"

namespace trilith::text {

constexpr uint32_t kLastCodePoint = 0x10ffff;

// CodePointFlag bits of a code point.
uint8_t code_point_flags(uint32_t code_point);

// A set of code points as sorted, disjoint, non-adjacent ranges.
class CodePointSet {
 public:
  struct Range {
    uint32_t first;
    uint32_t last;
    bool operator==(const Range&) const = default;
    auto operator<=>(const Range&) const = default;
  };

  CodePointSet() = default;
  static CodePointSet one(uint32_t code_point);
  static CodePointSet with_flag(CodePointFlag flag);
  // "L", "Lu", "Letter", "N" … : a general category or its first letter; nothing for other names.
  static std::optional<CodePointSet> with_property(std::string_view name);

  void add(uint32_t first, uint32_t last);
  void add(const CodePointSet& other);
  CodePointSet complement() const;
  bool contains(uint32_t code_point) const;
  const std::vector<Range>& ranges() const { return ranges_; }

  bool operator==(const CodePointSet&) const = default;
  auto operator<=>(const CodePointSet&) const = default;

 private:
  std::vector<Range> ranges_;
};

// Canonical composition (NFC) and decomposition (NFD) of UTF-8 text.
std::string to_nfc(std::string_view text);
std::string to_nfd(std::string_view text);

}  // namespace trilith::text
