#include <gmock/gmock.h>

#include "small_tokenizer.h"

namespace trilith::text {
namespace {

using ::testing::HasSubstr;

// The small tokenizer with the member at `path` ("model.unk_token") set to `json_text`.
Json changed(std::string_view path, std::string_view json_text) {
  Json json = small_tokenizer_json();
  Json value = Json::parse(json_text).value();
  const size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    json.set(std::string(path), std::move(value));
  } else {
    Json part = json[path.substr(0, dot)];
    part.set(std::string(path.substr(dot + 1)), std::move(value));
    json.set(std::string(path.substr(0, dot)), std::move(part));
  }
  return json;
}

struct Case {
  const char* path;
  const char* value;
  ErrorKind kind;
  const char* named;
};

TEST(DamagedTokenizer, SaysWhatIsWrong) {
  constexpr auto kDamaged = ErrorKind::kDamaged;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  const Case cases[] = {
      {"version", R"("2.0")", kUnsupported, "2.0"},
      {"model", "[]", kDamaged, "model"},
      {"model", R"({"type": "Unigram"})", kUnsupported, "Unigram"},
      {"model.vocab", "[]", kDamaged, "model.vocab"},
      {"model.vocab", R"({"a": "0"})", kDamaged, "model.vocab['a']"},
      {"model.vocab", R"({"a": -1})", kDamaged, "model.vocab['a']"},
      {"model.vocab", R"({"a": 1.5})", kDamaged, "model.vocab['a']"},
      {"model.vocab", R"({"a": 1e300})", kDamaged, "model.vocab['a']"},
      {"model.vocab", R"({"a": 9223372036854775807})", kDamaged, "far above"},
      {"model.vocab", R"({"a": 4000000})", kDamaged, "far above"},
      {"model.vocab", R"({"a": 7, "b": 7})", kDamaged, "the id 7"},
      {"model.merges", "{}", kDamaged, "model.merges"},
      {"model.merges", R"([["h"]])", kDamaged, "model.merges[0]"},
      {"model.merges", R"([["h", 1]])", kDamaged, "model.merges[0]"},
      {"model.merges", R"([3])", kDamaged, "model.merges[0]"},
      {"model.merges", R"([["h", "e"], ["absent", "e"]])", kDamaged, "merge 1"},
      {"model.merges", R"([["e", "h"]])", kDamaged, "merge 0"},
      {"model.merges", R"(["h e l"])", kDamaged, "merge 0"},
      {"model.merges", R"(["he"])", kDamaged, "merge 0"},
      {"model.unk_token", R"("absent")", kDamaged, "absent"},
      {"model.unk_token", "5", kDamaged, "unk_token"},
      {"model.dropout", "0.1", kUnsupported, "dropout"},
      {"model.dropout", "[]", kDamaged, "dropout"},
      {"model.byte_fallback", "true", kUnsupported, "<0x00>"},
      {"model.merge_ranks", "[]", kDamaged, "merge_ranks"},
      {"model.merge_ranks", "3", kDamaged, "merge_ranks"},
      {"model.byte_fallback", "1", kDamaged, "byte_fallback"},
      {"model.end_of_word_suffix", R"("</w>")", kUnsupported, "end_of_word_suffix"},
      {"model.continuing_subword_prefix", R"("##")", kUnsupported, "continuing_subword_prefix"},
      {"normalizer", "3", kDamaged, "normalizer"},
      {"normalizer", "{}", kDamaged, "normalizer.type"},
      {"normalizer", R"({"type": "NFKC"})", kUnsupported, "NFKC"},
      {"normalizer", R"({"type": "Sequence"})", kDamaged, "normalizers"},
      {"normalizer", R"({"type": "Replace", "pattern": {"String": ""}, "content": "x"})",
       kUnsupported, "empty"},
      {"pre_tokenizer", R"({"type": "Metaspace"})", kUnsupported, "Metaspace"},
      {"pre_tokenizer", R"({"type": "ByteLevel"})", kDamaged, "add_prefix_space"},
      {"pre_tokenizer", R"({"type": "Digits"})", kDamaged, "individual_digits"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": "x"})", kDamaged, "pattern"},
      {"pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "^"}, "behavior": "Isolated", "invert": false})",
       kUnsupported, "anchor"},
      {"pre_tokenizer",
       R"({"type": "Split", "pattern": {"String": "x"}, "behavior": "Odd", "invert": false})",
       kUnsupported, "Odd"},
      {"post_processor", R"({"type": "RobertaProcessing"})", kUnsupported, "RobertaProcessing"},
      {"post_processor", R"({"type": "TemplateProcessing"})", kDamaged, "single"},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]})", kDamaged,
       "'x'"},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}],
           "special_tokens": {"x": {"ids": [264]}}})",
       kDamaged, "'x'"},
      {"post_processor", R"({"type": "TemplateProcessing", "single": []})", kUnsupported, "once"},
      {"decoder", "null", kUnsupported, "no decoder"},
      {"decoder", R"({"type": "Metaspace"})", kUnsupported, "Metaspace"},
      {"decoder", R"({"type": "Sequence", "decoders": []})", kUnsupported, "empty"},
      {"decoder", R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"}]})", kUnsupported,
       "without Fuse"},
      {"decoder",
       R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]})",
       kUnsupported, "behind another"},
      {"decoder",
       R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Metaspace"}]})",
       kUnsupported, "Metaspace"},
      {"decoder",
       R"({"type": "Sequence", "decoders": [{"type": "Strip", "content": " ", "start": 1}]})",
       kUnsupported, "Strip"},
      {"added_tokens", "{}", kDamaged, "added_tokens"},
      {"added_tokens", "[5]", kDamaged, "added_tokens[]"},
      {"added_tokens", R"([{"id": 262, "content": "x"}])", kDamaged, "single_word"},
  };
  ASSERT_TRUE(Tokenizer::from_json(small_tokenizer_json()).ok());
  for (const Case& item : cases) {
    const auto result = Tokenizer::from_json(changed(item.path, item.value));
    ASSERT_FALSE(result.ok()) << item.path << " = " << item.value;
    EXPECT_EQ(result.error().kind, item.kind) << result.error().to_string();
    EXPECT_THAT(result.error().message, HasSubstr(item.named)) << item.value;
  }
}

Json added(int64_t id, const std::string& content, bool normalized = false) {
  return Json::object({{"id", id},
                       {"content", content},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", normalized},
                       {"special", false}});
}

Result<Tokenizer> with_added(Json::Array tokens) {
  Json json = small_tokenizer_json();
  json.set("added_tokens", Json(std::move(tokens)));
  return Tokenizer::from_json(json);
}

TEST(DamagedTokenizer, AddedTokensWithIdsTheyCannotHave) {
  EXPECT_TRUE(with_added({added(kEnd, "<a>"), added(kHello, "hello")}).ok());
  EXPECT_FALSE(with_added({added(kEnd + 1, "<a>")}).ok());      // a hole
  EXPECT_FALSE(with_added({added(3, "<a>")}).ok());             // another token's
  EXPECT_FALSE(with_added({added(kHello + 1, "hello")}).ok());  // in the vocabulary as another
  EXPECT_FALSE(with_added({added(int64_t{1} << 40, "<a>")}).ok());
  EXPECT_FALSE(with_added({added(-1, "<a>")}).ok());
  EXPECT_FALSE(with_added({added(kEnd, "<a>"), added(kEnd + 1, "<a>")}).ok());  // twice
  EXPECT_FALSE(with_added({added(kEnd, std::string(2000, 'x'))}).ok());
}

TEST(DamagedTokenizer, AddedTokensThatNormaliseToTheSame) {
  Json json = changed("normalizer", R"({"type": "NFC"})");
  json.set("added_tokens",
           Json(Json::Array{added(kEnd, "é", true), added(kEnd + 1, "e\u0301", true)}));
  EXPECT_FALSE(Tokenizer::from_json(json).ok());
}

// Ids without a token exist in published vocabularies; they decode to nothing.
TEST(DamagedTokenizer, HolesAreAllowed) {
  Json json = changed("model.vocab", R"({"a": 0, "b": 1000})");
  json.set("added_tokens", nullptr);
  Json model = json["model"];
  model.set("merges", Json(Json::Array()));
  json.set("model", std::move(model));
  const auto tokenizer = Tokenizer::from_json(json);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().to_string();
  EXPECT_EQ(tokenizer->vocab_size(), 1001);
  EXPECT_EQ(tokenizer->decode({0, 500, 1000}).value(), "ab");
  EXPECT_EQ(tokenizer->token_bytes(500), "");
}

TEST(DamagedTokenizer, TruncationAndPaddingAreLeftToTheCaller) {
  EXPECT_TRUE(Tokenizer::from_json(changed("truncation", R"({"max_length": 2})")).ok());
  EXPECT_TRUE(Tokenizer::from_json(changed("padding", R"({"pad_id": 0})")).ok());
}

TEST(DamagedTokenizer, DeepSequences) {
  std::string json = R"({"type": "NFC"})";
  for (int i = 0; i < 20; ++i) json = R"({"type": "Sequence", "normalizers": [)" + json + "]}";
  EXPECT_FALSE(Tokenizer::from_json(changed("normalizer", json)).ok());
}

TEST(DamagedTokenizer, FileErrorsNameTheFile) {
  const auto absent = Tokenizer::from_file("/nonexistent/tokenizer.json");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().file, "/nonexistent/tokenizer.json");
}

}  // namespace
}  // namespace trilith::text
