// Regular expressions of tokenizer.json. Hugging Face runs them with Oniguruma over code points;
// here a pattern is read into sets of code points, all of Unicode is divided into the few classes
// those sets can tell apart (at most 256), and PCRE2 matches one byte a character over class
// numbers. So \p{L}, \s and the like come from the generated table alone, whatever Unicode version
// PCRE2 has, and every set is one bitmap test.
//
// What the reader does not know is refused by name. Immutable after compile, safe to share; a
// RegexMatcher holds the scratch memory of one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trilith::text {

struct RegexMatch {
  size_t begin;  // bytes
  size_t end;
};

class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);
  // A pattern that matches `text` itself and nothing else.
  static Result<Regex> compile_literal(std::string_view text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

 private:
  friend class RegexMatcher;
  struct Impl;
  explicit Regex(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

class RegexMatcher {
 public:
  // `regex` must outlive it.
  explicit RegexMatcher(const Regex& regex);
  RegexMatcher(RegexMatcher&&) noexcept;
  RegexMatcher& operator=(RegexMatcher&&) noexcept;
  ~RegexMatcher();

  // All matches in UTF-8 `text`, leftmost first, without overlap. Fails when the pattern needs more
  // steps, stack or time than the limits in regex.cc allow.
  Result<std::vector<RegexMatch>> find_all(std::string_view text);

 private:
  struct Scratch;
  const Regex* regex_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace trilith::text
