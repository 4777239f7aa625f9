#include "reconcile/prompts.h"

#include <gtest/gtest.h>

namespace trilith::reconcile {
namespace {

using Texts = std::vector<std::string>;

TEST(Prompts, OneALineWithoutBlankLines) {
  EXPECT_EQ(*parse_prompts("\xef\xbb\xbfone\r\n\n  two \nthree"),
            (Texts{"one", "  two ", "three"}));
  EXPECT_EQ(*parse_prompts("[1, 2]\n"), (Texts{"[1, 2]"}));  // JSON, but no object
}

TEST(Prompts, JsonLinesMayHoldNewlines) {
  EXPECT_EQ(*parse_prompts("{\"prompt\": \"a\\nb\"}\n\n{\"prompt\": \"c\", \"id\": 7}\n"),
            (Texts{"a\nb", "c"}));
}

TEST(Prompts, BadLinesAreNamed) {
  const auto missing = parse_prompts("{\"prompt\": \"a\"}\n\n{\"text\": \"b\"}\n");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("line 3"), std::string::npos);
  EXPECT_FALSE(parse_prompts("").ok());
  EXPECT_FALSE(parse_prompts(" \n\n").ok());
}

TEST(IdLists, ListsOfIntegers) {
  EXPECT_EQ(*parse_id_lists("[1, 2]\n[3]\n"), (std::vector<std::vector<int32_t>>{{1, 2}, {3}}));
  for (const char* text : {"", "[]", "[1.5]", "[-1]", "[2147483648]", "[\"1\"]", "7", "[1"}) {
    EXPECT_FALSE(parse_id_lists(text).ok()) << text;
  }
}

}  // namespace
}  // namespace trilith::reconcile
