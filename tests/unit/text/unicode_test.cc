#include "text/unicode.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace trilith::text {
namespace {

TEST(Unicode, Normalisation) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\u0301", "á"},
      {"\u212b", "Å"},               // Ångström sign: a singleton
      {"a\u0323\u0307", "ạ\u0307"},  // U+1EA1 dot above
      {"a\u0307\u0323", "ạ\u0307"},  // marks in the wrong order
      {"\u1100\u1161\u11a8", "각"},  // Hangul
      {"가\u11a8", "각"},
      {"\u0958", "\u0915\u093c"},          // composition exclusion
      {"a\u0334\u0301", "á\u0334"},        // not blocked
      {"a\u0305\u0301", "a\u0305\u0301"},  // blocked by a mark of the same class
      {"plain", "plain"},
  };
  for (const auto& [text, composed] : cases) EXPECT_EQ(to_nfc(text), composed) << text;
  EXPECT_EQ(to_nfd("각á"), "\u1100\u1161\u11a8a\u0301");
  EXPECT_EQ(to_nfd("\u1e69"), "s\u0323\u0307");
}

TEST(Unicode, CodePointSets) {
  CodePointSet set;
  set.add(5, 7);
  set.add(10, 12);
  set.add(8, 9);
  EXPECT_EQ(set.ranges(), (std::vector<CodePointSet::Range>{{5, 12}}));
  set.add(20, 20);
  set.add(0, 30);
  EXPECT_EQ(set.ranges(), (std::vector<CodePointSet::Range>{{0, 30}}));
  EXPECT_EQ(set.complement().ranges(), (std::vector<CodePointSet::Range>{{31, kLastCodePoint}}));
  EXPECT_EQ(set.complement().complement(), set);
  EXPECT_TRUE(set.contains(30));
  EXPECT_FALSE(set.contains(31));
}

TEST(Unicode, Properties) {
  EXPECT_TRUE(CodePointSet::with_property("L")->contains(U'é'));
  EXPECT_TRUE(CodePointSet::with_property("Letter")->contains(U'日'));
  EXPECT_FALSE(CodePointSet::with_property("Lu")->contains(U'a'));
  EXPECT_TRUE(CodePointSet::with_property("Nd")->contains(U'٣'));
  EXPECT_FALSE(CodePointSet::with_property("Nd")->contains(U'½'));
  EXPECT_FALSE(CodePointSet::with_property("Greek").has_value());
  EXPECT_FALSE(CodePointSet::with_property("").has_value());
  EXPECT_NE(code_point_flags(0x3000) & kRegexSpace, 0);
  EXPECT_EQ(code_point_flags(0x200b) & kRegexSpace, 0);
}

TEST(Utf8, ReplacesMaximalSubparts) {
  // The examples of the Unicode Standard, section 3.9, tables 3-8 to 3-11.
  const std::pair<std::string, std::string> cases[] = {
      {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA"},
      {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA"},
      {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
       "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffd"
       "B"},
      {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "\ufffd\ufffd\ufffd\ufffdA"},
  };
  for (const auto& [bytes, text] : cases) {
    std::string result;
    append_lossy_utf8(result, bytes);
    EXPECT_EQ(result, text);
  }
}

TEST(Utf8, RoundTripOfEveryCodePoint) {
  for (uint32_t c = 0; c <= kLastCodePoint; ++c) {
    std::string text;
    append_utf8(text, c);
    const bool surrogate = c >= 0xd800 && c < 0xe000;
    ASSERT_EQ(first_invalid_utf8(text).has_value(), surrogate) << c;
    if (surrogate) continue;
    size_t offset = 0;
    ASSERT_EQ(next_code_point(text, offset), c);
    ASSERT_EQ(offset, text.size());
    ASSERT_EQ(previous_code_point(text, offset), c);
    ASSERT_EQ(offset, 0U);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(incomplete_utf8_tail(text.substr(0, cut)), cut);
    }
  }
}

}  // namespace
}  // namespace trilith::text
