// Reads the part of Oniguruma's syntax that tokenizers use: literals, sets, alternatives, groups,
// look-around, quantifiers, (?i:…) over ASCII. The result is the same pattern as pieces: syntax
// that PCRE2 shares, and sets of code points.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/unicode.h"

namespace trilith::text {

struct PatternPiece {
  std::string syntax;  // to be copied; when empty, the piece is sets[set]
  size_t set = 0;
};

struct ParsedPattern {
  std::vector<PatternPiece> pieces;
  std::vector<CodePointSet> sets;  // distinct
};

Result<ParsedPattern> parse_pattern(std::string_view pattern);

}  // namespace trilith::text
