#include "base/json.h"

#include <gtest/gtest.h>

namespace trilith {
namespace {

TEST(Json, LastOfDuplicateKeysWinsInTheFirstPlace) {
  const auto json = Json::parse(R"({"a":1,"b":2,"a":3})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->dump(), R"({"a":3,"b":2})");
}

TEST(Json, DuplicateKeysAreRefusedOnRequest) {
  const Json::ParseLimits strict{.unique_keys = true};
  const auto twice = Json::parse(R"({"x":{"b":1,"a":2,"b":1}})", strict);
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(twice.error().message.find("'b' occurs twice"), std::string::npos);
  EXPECT_TRUE(Json::parse(R"({"x":{"b":1},"b":2})", strict).ok());  // twice, but not in one object
}

TEST(Json, RoundTripKeepsOrderAndTypes) {
  const std::string text = R"({"z":[1,-2,3.5,true,null,"é\n"],"a":{"x":9007199254740993}})";
  const auto json = Json::parse(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->dump(), text);
  EXPECT_EQ((*json)["a"]["x"].as_integer(), 9007199254740993);
  EXPECT_TRUE((*json)["absent"]["deeper"].is_null());
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "NaN", "1e999", "{\"a\" 1}", "\"\xff\"", "[1] 2"}) {
    const auto json = Json::parse(text);
    EXPECT_FALSE(json.ok()) << text;
    if (!json.ok()) {
      EXPECT_EQ(json.error().kind, ErrorKind::kDamaged);
    }
  }
}

TEST(Json, DepthAndCountAreBounded) {
  const std::string deep(100000, '[');
  EXPECT_FALSE(Json::parse(deep).ok());
  std::string wide = "[0";
  for (int i = 0; i < 100; ++i) wide += ",0";
  wide += "]";
  EXPECT_FALSE(Json::parse(wide, {.max_values = 50}).ok());
  EXPECT_TRUE(Json::parse(wide, {.max_values = 102}).ok());
}

TEST(Json, NonFiniteNumbersAreWrittenAsNull) {
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
}

}  // namespace
}  // namespace trilith
