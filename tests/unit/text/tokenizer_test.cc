#include "text/tokenizer.h"

#include <gmock/gmock.h>

#include <chrono>

#include "small_tokenizer.h"

namespace trilith::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tokenizer small_tokenizer() { return Tokenizer::from_json(small_tokenizer_json()).value(); }

Tokenizer sample_tokenizer() {
  auto tokenizer = Tokenizer::from_file(TRILITH_SOURCE_DIR "/models/sample/tokenizer.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().to_string();
  return std::move(tokenizer).value();
}

Json with_template(Json json) {
  const Json bos = Json::object({{"id", "<|end|>"}, {"type_id", 0}});
  const Json text = Json::object({{"id", "A"}, {"type_id", 0}});
  Json processor = Json::object({{"type", "TemplateProcessing"}});
  processor.set("single", Json(Json::Array{Json::object({{"SpecialToken", bos}}),
                                           Json::object({{"Sequence", text}}),
                                           Json::object({{"SpecialToken", bos}})}));
  const Json entry = Json::object({{"id", "<|end|>"}, {"ids", Json(Json::Array{Json(kEnd)})}});
  processor.set("special_tokens", Json::object({{"<|end|>", entry}}));
  json.set("post_processor", std::move(processor));
  return json;
}

TEST(Tokenizer, JoinsTheLowestRankFirst) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_THAT(tokenizer.encode("hello").value(), ElementsAre(kHello));
  EXPECT_THAT(tokenizer.encode("hello hello").value(), ElementsAre(kHello, kSpaceHello));
  EXPECT_THAT(tokenizer.encode("helo").value(), ElementsAre(256, 'l', 'o'));
  // The pattern leaves the last of several blanks to the word.
  EXPECT_THAT(tokenizer.encode("   hello").value(), ElementsAre(kTwoSpaces, kSpaceHello));
  EXPECT_THAT(tokenizer.encode("lll").value(), ElementsAre(257, 'l'));
}

// From tokenizers 0.23.3 on models/sample/tokenizer.json.
TEST(Tokenizer, GivesTheIdsOfHuggingFaceOnTheSample) {
  const Tokenizer tokenizer = sample_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 2048);
  const std::pair<std::string, std::vector<int32_t>> golden[] = {
      {"Once upon a time, there was a little girl named Lily.",
       {323, 324, 259, 316, 12, 312, 267, 259, 453, 411, 308, 630, 14}},
      {"It's  3 o'clock!\n\nNaïve 日本 😀",
       {896, 530, 221, 221, 19,  365, 7,  67,  76,  79,  393, 1,   199, 199, 46, 65,
        128, 108, 348, 221, 163, 246, 99, 163, 251, 106, 221, 173, 254, 247, 223}},
      {"<|endoftext|>The end.", {0, 1373, 427, 14}},
  };
  for (const auto& [text, ids] : golden) {
    EXPECT_EQ(tokenizer.encode(text).value(), ids) << text;
    EXPECT_EQ(tokenizer.decode(ids, false).value(), text);
  }
}

TEST(Tokenizer, SpecialTokensInTheText) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_THAT(tokenizer.encode("hello<|end|>hello").value(), ElementsAre(kHello, kEnd, kHello));
  EXPECT_THAT(tokenizer.encode("<|end|>", {.parse_special = false}).value(),
              ElementsAre('<', '|', 'e', 'n', 'd', '|', '>'));
  // Tokens that are not special are found either way.
  EXPECT_THAT(tokenizer.encode("<tool>", {.parse_special = false}).value(), ElementsAre(kTool));
  EXPECT_TRUE(tokenizer.is_special(kEnd));
  EXPECT_FALSE(tokenizer.is_special(kTool));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_EQ(tokenizer.token_to_id("<|end|>"), kEnd);
  EXPECT_EQ(tokenizer.token_to_id("Ġhello"), kSpaceHello);
  EXPECT_EQ(tokenizer.token_to_id("absent"), std::nullopt);
  EXPECT_EQ(tokenizer.decode({kHello, kEnd, kTool}).value(), "hello<tool>");
  EXPECT_EQ(tokenizer.decode({kHello, kEnd, kTool}, false).value(), "hello<|end|><tool>");
}

TEST(Tokenizer, TemplateAroundTheText) {
  const Tokenizer tokenizer = Tokenizer::from_json(with_template(small_tokenizer_json())).value();
  EXPECT_THAT(tokenizer.encode("hello").value(), ElementsAre(kEnd, kHello, kEnd));
  EXPECT_THAT(tokenizer.encode("").value(), ElementsAre(kEnd, kEnd));
  EXPECT_THAT(tokenizer.encode("hello", {.add_special_tokens = false}).value(),
              ElementsAre(kHello));
}

TEST(Tokenizer, MergesAsLines) {
  Json json = small_tokenizer_json();
  Json model = json["model"];
  model.set("merges", Json(Json::Array{Json("#version: 0.2"), Json("h e")}));
  json.set("model", std::move(model));
  EXPECT_THAT(Tokenizer::from_json(json)->encode("hell").value(), ElementsAre(256, 'l', 'l'));
}

TEST(Tokenizer, EmptyTextHasNoIds) {
  EXPECT_TRUE(small_tokenizer().encode("").value().empty());
  EXPECT_EQ(small_tokenizer().decode({}).value(), "");
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8AndSaysWhere) {
  const Tokenizer tokenizer = small_tokenizer();
  const std::pair<std::string, uint64_t> cases[] = {{"abc\xff", 3},   {"\x80", 0},
                                                    {"ok\xc3", 2},    {"\xed\xa0\x80", 0},
                                                    {"a\xc0\x80", 1}, {"\xf4\x90\x80\x80", 0},
                                                    {"é\xe2\x82", 2}};
  for (const auto& [text, offset] : cases) {
    const auto result = tokenizer.encode(text);
    ASSERT_FALSE(result.ok()) << offset;
    EXPECT_EQ(result.error().kind, ErrorKind::kDamaged);
    EXPECT_EQ(result.error().offset, offset);
  }
}

TEST(Tokenizer, RefusesHugeText) {
  const auto result = small_tokenizer().encode(std::string((size_t{64} << 20) + 1, 'a'));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().to_string(), HasSubstr("too long"));
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  for (const int32_t id : {-1, kTool + 1, INT32_MAX}) {
    const auto result = small_tokenizer().decode({id});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::kUsage);
  }
}

// A word of a million letters: the time grows about as the length, not as its square.
TEST(Tokenizer, LongWordsTakeBoundedTime) {
  const Tokenizer tokenizer = small_tokenizer();
  const auto seconds = [&](size_t length) {
    const std::string text(length, 'l');
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(tokenizer.encode(text)->size(), length / 2);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double small = 1e9;
  double large = 1e9;
  for (int i = 0; i < 3; ++i) {
    small = std::min(small, seconds(size_t{1} << 15));
    large = std::min(large, seconds(size_t{1} << 20));
  }
  EXPECT_LT(large, 32 * small * 8);  // quadratic would be 32 times 32
}

TEST(StreamingDetokenizer, NeverSplitsACharacter) {
  const Tokenizer tokenizer = small_tokenizer();
  StreamingDetokenizer stream(tokenizer);
  EXPECT_EQ(stream.push(0xf0), "");
  EXPECT_EQ(stream.push(0x9f), "");
  EXPECT_EQ(stream.push(0x98), "");
  EXPECT_EQ(stream.push(0x80), "😀");
  EXPECT_EQ(stream.push(kEnd), "");
  EXPECT_EQ(stream.push(kSpaceHello), " hello");
  EXPECT_EQ(stream.push(0xe2), "");
  EXPECT_EQ(stream.push('a'), "\ufffda");
  EXPECT_EQ(stream.push(0xc3), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
  EXPECT_EQ(stream.finish(), "");
}

// Every string of up to four of these bytes: what comes out is UTF-8 piece by piece, and together
// it is what decode() gives.
TEST(StreamingDetokenizer, AgreesWithDecode) {
  const Tokenizer tokenizer = small_tokenizer();
  const int32_t bytes[] = {'a', 0x80, 0xbf, 0xc1, 0xc3, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0x9f, 0xff};
  for (size_t code = 0; code < 12 * 12 * 12 * 12; ++code) {
    std::vector<int32_t> ids;
    for (size_t rest = code; ids.size() < 4; rest /= 12) ids.push_back(bytes[rest % 12]);
    StreamingDetokenizer stream(tokenizer);
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string part = stream.push(id);
      ASSERT_FALSE(first_invalid_utf8(part).has_value());
      streamed += part;
    }
    streamed += stream.finish();
    ASSERT_EQ(streamed, tokenizer.decode(ids).value());
  }
}

}  // namespace
}  // namespace trilith::text
