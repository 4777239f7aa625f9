#include "text/regex.h"

#include <gmock/gmock.h>

#include <string>

namespace trilith::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.error().to_string();
  const auto found = RegexMatcher(*regex).find_all(text);
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  std::vector<std::string> parts;
  for (const RegexMatch& match : *found) {
    parts.emplace_back(text.substr(match.begin, match.end - match.begin));
  }
  return parts;
}

TEST(Regex, Gpt2Pattern) {
  constexpr std::string_view kPattern =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  EXPECT_THAT(matches(kPattern, "it's  12½ 日本!? \n x"),
              ElementsAre("it", "'s", " ", " 12½", " 日本", "!?", " \n", " x"));
}

TEST(Regex, SetsAndEscapes) {
  EXPECT_THAT(matches(R"([a-c\-\x{e9}ü-ÿ]+)", "ab-é ûü xþ"), ElementsAre("ab-é", "ü", "þ"));
  EXPECT_THAT(matches(R"([^\P{Lu}A]+)", "ABÀĀa"), ElementsAre("BÀĀ"));
  EXPECT_THAT(matches(R"(\p{^N}+)", "ab1c"), ElementsAre("ab", "c"));
  EXPECT_THAT(matches(R"([[a-b][d\d]]+)", "abcd9"), ElementsAre("ab", "d9"));
  EXPECT_THAT(matches(R"([!"#\[\]\\]+)", R"(a"[]\#)"), ElementsAre(R"("[]\#)"));
  EXPECT_THAT(matches(".+", "ab\ncd"), ElementsAre("ab", "cd"));
}

TEST(Regex, QuantifiersAndGroups) {
  EXPECT_THAT(matches("a{2,3}", "aaaaa"), ElementsAre("aaa", "aa"));
  EXPECT_THAT(matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(matches("(?:ab|c)+?", "abc"), ElementsAre("ab", "c"));
  EXPECT_THAT(matches("a++b|a", "aab aa"), ElementsAre("aab", "a", "a"));
  EXPECT_THAT(matches("(?<=é)b(?!c)", "éb ébc b"), ElementsAre("b"));
  EXPECT_THAT(matches(R"(\bab\b)", "ab cab ab"), ElementsAre("ab", "ab"));
  EXPECT_THAT(matches("b*", "abb"), ElementsAre("", "bb"));
}

TEST(Regex, IgnoringCase) {
  // U+017F folds to s and U+212A to k, as in Oniguruma.
  EXPECT_THAT(matches("(?i:'s|k)", "'S 's 'ſ K \u212a"),
              ElementsAre("'S", "'s", "'ſ", "K", "\u212a"));
  EXPECT_THAT(matches("(?i)[a-c]x", "Bx AX dx"), ElementsAre("Bx", "AX"));
  EXPECT_THAT(matches("(?i:a)b", "Ab AB"), ElementsAre("Ab"));
}

TEST(Regex, Literals) {
  const auto regex = Regex::compile_literal("a.*[é]");
  const auto found = RegexMatcher(*regex).find_all("xa.*[é] a--[é]");
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().begin, 1U);
  EXPECT_EQ(found->front().end, 8U);
}

TEST(Regex, RefusesByName) {
  const std::pair<std::string, std::string> cases[] = {
      {"^a", "anchor '^'"},
      {"a$", "anchor '$'"},
      {"(a", "unclosed group"},
      {"a)", "unmatched ')'"},
      {"[a", "unclosed set"},
      {"[]", "unclosed set"},
      {"[a&&b]", "'&&'"},
      {"[[:alpha:]]", "POSIX"},
      {R"(\1)", R"('\1')"},
      {R"(\h)", R"('\h')"},
      {R"(\p{Han})", "Han"},
      {"(?<n>a)", "(?<n"},
      {"(?x)a", "(?x)"},
      {"(*FAIL)", "(*FA"},
      {"a**", "repeated quantifier"},
      {"+", "nothing is repeated"},
      {"a{3}?", "'{n}?'"},
      {"a{1,2}+", "'{n,m}+'"},
      {"a{2,1}", "backwards"},
      {"a{5000}", "above 1000"},
      {"[b-a]", "backwards"},
      {"(?i)é", "not ASCII"},
      {"(?i)ss", "'ss'"},
      {R"((?i)\p{Lu})", "property"},
      {R"(\)", "at the end"},
      {R"(\xff)", "hexadecimal"},
      {"a{x", "no quantifier"},
      {"(?=a)*", "assertion"},
      {"(?<=a+)b", "compiled"},
      {std::string(20000, 'a'), "16384"},
      {std::string(50, '(') + std::string(50, ')'), "nested deeper"},
  };
  for (const auto& [pattern, named] : cases) {
    const auto regex = Regex::compile(pattern);
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_EQ(regex.error().kind, ErrorKind::kUnsupported);
    EXPECT_THAT(regex.error().message, HasSubstr(named)) << pattern;
  }
}

TEST(Regex, ManyKindsOfCharacters) {
  std::string pattern;
  for (int c = 0; c < 200; ++c) pattern += "\\x{" + std::to_string(1000 + c) + "}|";
  EXPECT_TRUE(Regex::compile(pattern + "a").ok());
  for (int c = 200; c < 300; ++c) pattern += "\\x{" + std::to_string(1000 + c) + "}|";
  EXPECT_FALSE(Regex::compile(pattern + "a").ok());
}

// Patterns that backtrack without end are an error, not a hang. The text ends in what PCRE2 looks
// for before it tries at all.
TEST(Regex, HostilePatternsHitALimit) {
  for (const char* pattern :
       {"(a|a)*b", "(a*)*b", "(?:a|aa)+b", "a+a+a+b", "(?:x|(?:a|b|ab)+)+y"}) {
    const auto regex = Regex::compile(pattern);
    ASSERT_TRUE(regex.ok());
    const auto found = RegexMatcher(*regex).find_all(std::string(3000, 'a') + "!by");
    ASSERT_FALSE(found.ok()) << pattern;
    EXPECT_THAT(found.error().message, HasSubstr("too much work"));
  }
}

// Every attempt stays below the step limit, but each reads far ahead and there are many of them.
TEST(Regex, QuadraticPatternsRunOutOfTime) {
  const auto regex = Regex::compile("a+b");
  const auto found = RegexMatcher(*regex).find_all(std::string(400000, 'a') + "!b");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("more than"));
}

}  // namespace
}  // namespace trilith::text
