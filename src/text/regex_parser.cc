#include "text/regex_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace trilith::text {
namespace {

constexpr size_t kMaxPatternBytes = 16384;
constexpr int kMaxDepth = 32;
constexpr size_t kMaxSets = 256;
constexpr int kMaxCount = 1000;

bool is_ascii_letter(uint32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  Result<ParsedPattern> parse() {
    if (pattern_.size() > kMaxPatternBytes) {
      return refuse(fmt::format("a pattern of more than {} bytes", kMaxPatternBytes));
    }
    if (const auto offset = first_invalid_utf8(pattern_)) {
      return Error::damaged("the pattern is not UTF-8").with_offset(*offset);
    }
    TRILITH_RETURN_IF_ERROR(parse_alternatives(take("(?i)"), 0));
    if (!at_end()) return refuse("an unmatched ')'");
    return std::move(result_);
  }

 private:
  bool at_end() const { return offset_ == pattern_.size(); }
  char peek() const { return at_end() ? '\0' : pattern_[offset_]; }
  bool take(std::string_view text) {
    if (pattern_.substr(offset_, text.size()) != text) return false;
    offset_ += text.size();
    return true;
  }
  Error refuse(const std::string& what) const {
    return Error::unsupported("the regular expression has " + what + ", which is not implemented")
        .with_offset(offset_)
        .with_found(std::string(pattern_));
  }

  void emit(std::string_view syntax) {
    if (result_.pieces.empty() || result_.pieces.back().syntax.empty()) {
      result_.pieces.push_back({std::string(syntax), 0});
    } else {
      result_.pieces.back().syntax += syntax;
    }
  }
  Status emit(const CodePointSet& set) {
    auto found = std::find(result_.sets.begin(), result_.sets.end(), set);
    if (found == result_.sets.end()) {
      if (result_.sets.size() == kMaxSets) {
        return refuse(fmt::format("more than {} different characters and sets", kMaxSets));
      }
      found = result_.sets.insert(result_.sets.end(), set);
    }
    result_.pieces.push_back({"", static_cast<size_t>(found - result_.sets.begin())});
    return {};
  }

  Status parse_alternatives(bool ignore_case, int depth) {
    if (depth > kMaxDepth) return refuse(fmt::format("groups nested deeper than {}", kMaxDepth));
    bool after_literal = false;
    while (!at_end() && peek() != ')') {
      if (take("|")) {
        emit("|");
        after_literal = false;
        continue;
      }
      bool literal = false;
      bool quantifiable = true;
      TRILITH_RETURN_IF_ERROR(parse_atom(ignore_case, depth, literal, quantifiable));
      if (ignore_case && literal && after_literal) TRILITH_RETURN_IF_ERROR(check_no_folded_pair());
      after_literal = literal;
      TRILITH_RETURN_IF_ERROR(parse_quantifier(quantifiable));
    }
    return {};
  }

  // Oniguruma lets (?i)ss match ß, ff match a ligature and so on.
  Status check_no_folded_pair() const {
    constexpr std::string_view kPairs[] = {"ss", "ff", "fi", "fl", "st"};
    std::string pair(pattern_.substr(offset_ - 2, 2));
    for (char& c : pair) c = static_cast<char>(c | 0x20);
    if (std::find(std::begin(kPairs), std::end(kPairs), pair) == std::end(kPairs)) return {};
    return refuse("(?i) over '" + pair + "'");
  }

  Status parse_atom(bool ignore_case, int depth, bool& literal, bool& quantifiable) {
    switch (peek()) {
      case '(':
        return parse_group(ignore_case, depth, quantifiable);
      case '[': {
        ++offset_;
        TRILITH_ASSIGN_OR_RETURN(const CodePointSet set, parse_set(ignore_case, depth));
        return emit(set);
      }
      case '.': {
        ++offset_;
        return emit(CodePointSet::one('\n').complement());
      }
      case '^':
      case '$':
        return refuse(fmt::format("the anchor '{}'", peek()));
      case '*':
      case '+':
      case '?':
      case '{':
        return refuse(fmt::format("'{}' where nothing is repeated", peek()));
      case '\\':
        if (take("\\b") || take("\\B")) {
          quantifiable = false;
          return emit_word_boundary(pattern_[offset_ - 1] == 'b');
        }
        {
          bool is_set = false;
          TRILITH_ASSIGN_OR_RETURN(CodePointSet set, parse_escape(is_set));
          if (ignore_case) TRILITH_RETURN_IF_ERROR(fold(set, is_set));
          return emit(set);
        }
      default: {
        CodePointSet set = CodePointSet::one(next_code_point(pattern_, offset_));
        literal = true;
        if (ignore_case) TRILITH_RETURN_IF_ERROR(fold(set, false));
        return emit(set);
      }
    }
  }

  Status parse_group(bool ignore_case, int depth, bool& quantifiable) {
    constexpr std::string_view kLookAround[] = {"(?=", "(?!", "(?<=", "(?<!"};
    std::string_view opening;
    for (const std::string_view look : kLookAround) {
      if (opening.empty() && take(look)) opening = look;
    }
    if (!opening.empty()) {
      quantifiable = false;
    } else if (take("(?>")) {
      opening = "(?>";
    } else if (take("(?i:")) {
      opening = "(?:";
      ignore_case = true;
    } else if (take("(?:")) {
      opening = "(?:";
    } else if (pattern_.substr(offset_, 2) == "(?" || pattern_.substr(offset_, 2) == "(*") {
      return refuse(fmt::format("the group '{}'", pattern_.substr(offset_, 4)));
    } else {
      ++offset_;
      opening = "(?:";  // captures are never used
    }
    emit(opening);
    TRILITH_RETURN_IF_ERROR(parse_alternatives(ignore_case, depth + 1));
    if (!take(")")) return refuse("an unclosed group");
    emit(")");
    return {};
  }

  Status emit_word_boundary(bool at_boundary) {
    const CodePointSet word = CodePointSet::with_flag(kRegexWord);
    const char* const pieces[] = {"(?:(?<=", at_boundary ? ")(?!" : ")(?=", ")|(?<!",
                                  at_boundary ? ")(?=" : ")(?!", "))"};
    for (size_t i = 0; i < 4; ++i) {
      emit(pieces[i]);
      TRILITH_RETURN_IF_ERROR(emit(word));
    }
    emit(pieces[4]);
    return {};
  }

  std::optional<int> take_number() {
    int value = 0;
    const size_t start = offset_;
    while (peek() >= '0' && peek() <= '9' && value <= kMaxCount) {
      value = value * 10 + (pattern_[offset_++] - '0');
    }
    if (offset_ == start) return std::nullopt;
    return value;
  }

  Status parse_quantifier(bool quantifiable) {
    std::string quantifier;
    if (peek() == '{') {
      ++offset_;
      const auto low = take_number();
      const bool comma = take(",");
      const auto high = comma ? take_number() : low;
      if (!take("}") || (!low && !high)) return refuse("a '{' that begins no quantifier");
      if (std::max(low.value_or(0), high.value_or(0)) > kMaxCount ||
          (high && low.value_or(0) > *high)) {
        return refuse(fmt::format("a count above {} or a range backwards", kMaxCount));
      }
      quantifier = high ? fmt::format("{{{},{}}}", low.value_or(0), *high)
                        : fmt::format("{{{},}}", low.value_or(0));
      // Oniguruma reads {n}? and {n,m}+ as two quantifiers.
      if (!comma && peek() == '?') return refuse("'{n}?'");
      if (peek() == '+') return refuse("'{n,m}+'");
    } else if (peek() == '*' || peek() == '+' || peek() == '?') {
      quantifier = peek();
      ++offset_;
      if (take("+")) quantifier += '+';
    } else {
      return {};
    }
    if (quantifier.back() != '+' || quantifier.size() == 1) {
      if (take("?")) quantifier += '?';
    }
    if (!quantifiable) return refuse("a repeated assertion");
    constexpr std::string_view kQuantifiers = "*+?{";
    if (!at_end() && kQuantifiers.find(peek()) != std::string_view::npos) {
      return refuse("a repeated quantifier");
    }
    emit(quantifier);
    return {};
  }

  // Behind '['.
  Result<CodePointSet> parse_set(bool ignore_case, int depth) {
    if (depth > kMaxDepth) return refuse(fmt::format("sets nested deeper than {}", kMaxDepth));
    const bool negated = take("^");
    CodePointSet set;
    bool empty = true;
    while (!at_end() && peek() != ']') {
      empty = false;
      if (pattern_.substr(offset_, 2) == "&&") return refuse("the intersection '&&'");
      if (pattern_.substr(offset_, 2) == "[:") return refuse("a POSIX class");
      if (take("[")) {
        TRILITH_ASSIGN_OR_RETURN(const CodePointSet inner, parse_set(ignore_case, depth + 1));
        set.add(inner);
        continue;
      }
      bool is_set = false;
      TRILITH_ASSIGN_OR_RETURN(CodePointSet item, parse_set_item(is_set));
      const bool range =
          peek() == '-' && offset_ + 1 < pattern_.size() && pattern_[offset_ + 1] != ']';
      if (range) {
        ++offset_;
        bool end_is_set = false;
        TRILITH_ASSIGN_OR_RETURN(const CodePointSet end, parse_set_item(end_is_set));
        const uint32_t first = item.ranges().front().first;
        const uint32_t last = end.ranges().front().first;
        if (is_set || end_is_set || last < first)
          return refuse("a range between sets or backwards");
        item.add(first, last);
      }
      if (ignore_case) TRILITH_RETURN_IF_ERROR(fold(item, is_set));
      set.add(item);
    }
    if (!take("]") || empty) return refuse("an empty or unclosed set");
    return negated ? set.complement() : set;
  }

  Result<CodePointSet> parse_set_item(bool& is_set) {
    if (peek() == '\\') return parse_escape(is_set);
    if (peek() == '[') return refuse("a range that ends in a set");
    return CodePointSet::one(next_code_point(pattern_, offset_));
  }

  // At '\'. `is_set`: the escape stands for many characters.
  Result<CodePointSet> parse_escape(bool& is_set) {
    ++offset_;
    const char c = peek();
    if (at_end()) return refuse("a '\\' at the end");
    if (static_cast<uint8_t>(c) >= 0x80) {
      return CodePointSet::one(next_code_point(pattern_, offset_));
    }
    ++offset_;
    is_set = true;
    switch (c) {
      case 's':
        return CodePointSet::with_flag(kRegexSpace);
      case 'S':
        return CodePointSet::with_flag(kRegexSpace).complement();
      case 'w':
        return CodePointSet::with_flag(kRegexWord);
      case 'W':
        return CodePointSet::with_flag(kRegexWord).complement();
      case 'd':
        return *CodePointSet::with_property("Nd");
      case 'D':
        return CodePointSet::with_property("Nd")->complement();
      case 'p':
      case 'P':
        return parse_property(c == 'P');
      default:
        break;
    }
    is_set = false;
    constexpr std::pair<char, char> kControls[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'},
                                                   {'f', '\f'}, {'v', '\v'}, {'a', '\a'}};
    for (const auto& [name, value] : kControls) {
      if (c == name) return CodePointSet::one(static_cast<uint8_t>(value));
    }
    if (c == 'x' || c == 'u') return parse_hex(c);
    if (is_ascii_letter(static_cast<uint8_t>(c)) || (c >= '0' && c <= '9')) {
      return refuse(fmt::format("the escape '\\{}'", c));
    }
    return CodePointSet::one(static_cast<uint8_t>(c));
  }

  Result<CodePointSet> parse_property(bool negated) {
    const size_t end = pattern_.find('}', offset_);
    if (!take("{") || end == std::string_view::npos) return refuse("'\\p' without {name}");
    if (take("^")) negated = !negated;
    const std::string_view name = pattern_.substr(offset_, end - offset_);
    const auto set = CodePointSet::with_property(name);
    if (!set) return refuse(fmt::format("the property '\\p{{{}}}'", name));
    offset_ = end + 1;
    return negated ? set->complement() : *set;
  }

  // \xHH (ASCII), \x{H…} and \uHHHH.
  Result<CodePointSet> parse_hex(char kind) {
    const bool braces = kind == 'x' && take("{");
    const size_t digits = braces ? 6 : kind == 'x' ? 2 : 4;
    uint32_t value = 0;
    size_t read = 0;
    for (; read < digits; ++read) {
      const char c = peek();
      const uint32_t lower = static_cast<uint8_t>(c) | 0x20U;
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<uint32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + (lower - 'a' + 10);
      } else {
        break;
      }
      ++offset_;
    }
    const bool complete = braces ? read > 0 && take("}") : read == digits;
    if (!complete || value > kLastCodePoint || (kind == 'x' && !braces && value >= 0x80)) {
      return refuse("a hexadecimal escape that names no character");
    }
    return CodePointSet::one(value);
  }

  // Adds what (?i) makes equal. Long s and the Kelvin sign are the only others for ASCII.
  Status fold(CodePointSet& set, bool is_property) const {
    if (is_property) return refuse("(?i) over a property");
    for (const auto& range : set.ranges()) {
      if (range.last >= 0x80) return refuse("(?i) over characters that are not ASCII");
    }
    CodePointSet folded = set;
    for (uint32_t c = 'a'; c <= 'z'; ++c) {
      if (!set.contains(c) && !set.contains(c - 0x20)) continue;
      folded.add(c, c);
      folded.add(c - 0x20, c - 0x20);
      if (c == 's') folded.add(0x17f, 0x17f);
      if (c == 'k') folded.add(0x212a, 0x212a);
    }
    set = std::move(folded);
    return {};
  }

  std::string_view pattern_;
  size_t offset_ = 0;
  ParsedPattern result_;
};

}  // namespace

Result<ParsedPattern> parse_pattern(std::string_view pattern) { return Parser(pattern).parse(); }

}  // namespace trilith::text
