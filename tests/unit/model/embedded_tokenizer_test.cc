// Vocabularies in the keys of GGUF files: those that are known become tokenizers, others are
// refused.
#include "model/embedded_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/gguf_writer.h"
#include "support/temp_folder.h"
#include "text/tokenizer.h"

namespace trilith::model {
namespace {

using testing::HasSubstr;

// A file with one tensor and these keys.
struct Vocabulary {
  std::string model = "gpt2";
  std::string pre = "gpt-2";
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges{"a b", "1 2", "ab 12"};
  bool has_merges = true;
  std::vector<float> scores;
  std::optional<bool> add_bos;
  std::optional<uint32_t> bos;

  Vocabulary() {
    // All 256 letters of bytes would be long: those that the texts of this test need.
    for (const char* token : {"a", "b", "1", "2", "Ġ", "ab", "12", "ab12", "<s>", "<user>"}) {
      tokens.emplace_back(token);
      types.push_back(1);
    }
    types[8] = 3;
    types[9] = 4;
  }
};

class Embedded : public testing::Test {
 protected:
  Result<std::optional<Json>> read(const Vocabulary& vocabulary) {
    const std::string path = folder_.file("model.gguf");
    auto writer = checkpoint::GgufWriter::create(path).value();
    writer.set_string("general.architecture", "llama");
    if (!vocabulary.model.empty()) writer.set_string("tokenizer.ggml.model", vocabulary.model);
    if (!vocabulary.pre.empty()) writer.set_string("tokenizer.ggml.pre", vocabulary.pre);
    if (!vocabulary.tokens.empty()) {
      writer.set_strings("tokenizer.ggml.tokens", vocabulary.tokens);
      writer.set_integers("tokenizer.ggml.token_type", vocabulary.types);
    }
    if (vocabulary.has_merges) writer.set_strings("tokenizer.ggml.merges", vocabulary.merges);
    if (!vocabulary.scores.empty()) writer.set_floats("tokenizer.ggml.scores", vocabulary.scores);
    if (vocabulary.add_bos) writer.set_bool("tokenizer.ggml.add_bos_token", *vocabulary.add_bos);
    if (vocabulary.bos) writer.set_u32("tokenizer.ggml.bos_token_id", *vocabulary.bos);
    const std::vector<float> values(32);
    EXPECT_TRUE(writer.declare("token_embd.weight", 0, {1, 32}, 128).ok());
    EXPECT_TRUE(writer.write(std::as_bytes(std::span(values))).ok());
    EXPECT_TRUE(writer.finish().ok());
    checkpoint_ = checkpoint::Checkpoint::open(path).value();
    return embedded_tokenizer(checkpoint_);
  }

  std::vector<int32_t> encode(const Vocabulary& vocabulary, const std::string& text) {
    const auto json = read(vocabulary);
    EXPECT_TRUE(json.ok()) << json.error().to_string();
    EXPECT_TRUE(json->has_value());
    const auto tokenizer = text::Tokenizer::from_json(**json);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().to_string();
    return tokenizer->encode(text).value();
  }

  std::string refusal(const Vocabulary& vocabulary) {
    const auto json = read(vocabulary);
    return json.ok() ? "accepted" : json.error().to_string();
  }

  support::TempFolder folder_;
  checkpoint::Checkpoint checkpoint_;
};

TEST_F(Embedded, EachWayOfSplittingHasItsOwnTokens) {
  Vocabulary vocabulary;
  EXPECT_EQ(encode(vocabulary, "ab12"), (std::vector<int32_t>{5, 6}));  // letters, digits
  vocabulary.pre = "smollm";
  EXPECT_EQ(encode(vocabulary, "ab12"), (std::vector<int32_t>{5, 2, 3}));  // every digit alone
  vocabulary.pre = "qwen2";
  EXPECT_EQ(encode(vocabulary, "ab12"), (std::vector<int32_t>{5, 2, 3}));
  vocabulary.pre = "llama-bpe";
  vocabulary.add_bos = false;
  EXPECT_EQ(encode(vocabulary, "ab12"), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(encode(vocabulary, " ab"), (std::vector<int32_t>{4, 5}));
}

TEST_F(Embedded, ControlTokensAreReadWholeAndTheFirstIsAddedWhereAsked) {
  Vocabulary vocabulary;
  EXPECT_EQ(encode(vocabulary, "<s>ab<user>"), (std::vector<int32_t>{8, 5, 9}));
  vocabulary.add_bos = true;
  vocabulary.bos = 8;
  EXPECT_EQ(encode(vocabulary, "ab"), (std::vector<int32_t>{8, 5}));
  vocabulary.add_bos.reset();
  EXPECT_EQ(encode(vocabulary, "ab"), (std::vector<int32_t>{5}));
  vocabulary.pre = "llama-bpe";  // begins with it unless told otherwise
  EXPECT_EQ(encode(vocabulary, "ab"), (std::vector<int32_t>{8, 5}));
}

// "ab" has two ways to come about in "aab": the pieces' scores, not their order, say what joins.
TEST_F(Embedded, ScoresOfPiecesSayWhatJoinsFirst) {
  Vocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {"<unk>", "<s>", "\u2581", "a", "b", "\u2581a", "ab", "aa", "\u2581ab"};
  vocabulary.types = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  vocabulary.bos = 1;
  vocabulary.scores = {0, 0, -9, -9, -9, -3, -1, -2, -4};
  EXPECT_EQ(encode(vocabulary, "aab"), (std::vector<int32_t>{1, 5, 6}));
  vocabulary.scores[7] = -0.5F;
  EXPECT_EQ(encode(vocabulary, "aab"), (std::vector<int32_t>{1, 2, 7, 4}));
  vocabulary.types[7] = 4;  // user-defined: taken whole, the text on either side by itself
  EXPECT_EQ(encode(vocabulary, "aab"), (std::vector<int32_t>{1, 7, 2, 4}));
  vocabulary.types[7] = 5;  // unused: joins nothing
  EXPECT_EQ(encode(vocabulary, "aab"), (std::vector<int32_t>{1, 5, 6}));
  EXPECT_EQ(encode(vocabulary, "axyb"), (std::vector<int32_t>{1, 5, 0, 4}));
  vocabulary.add_bos = false;
  EXPECT_EQ(encode(vocabulary, "<unk>"), (std::vector<int32_t>{0}));
  vocabulary.scores.pop_back();
  EXPECT_THAT(refusal(vocabulary), HasSubstr("9 numbers"));
  vocabulary.scores.push_back(std::nanf(""));
  EXPECT_THAT(refusal(vocabulary), HasSubstr("score nan"));
}

TEST_F(Embedded, AFileWithoutAVocabularyHasNoTokenizer) {
  Vocabulary vocabulary;
  vocabulary.tokens.clear();
  const auto json = read(vocabulary);
  ASSERT_TRUE(json.ok());
  EXPECT_FALSE(json->has_value());
}

TEST_F(Embedded, OtherKindsAreRefusedByName) {
  Vocabulary vocabulary;
  vocabulary.model = "t5";
  EXPECT_THAT(refusal(vocabulary), HasSubstr("found t5"));
  vocabulary.model = "gpt2";
  for (const char* pre : {"deepseek-llm", ""}) {
    vocabulary.pre = pre;
    EXPECT_THAT(refusal(vocabulary), HasSubstr("way of splitting"));
  }
}

TEST_F(Embedded, DamagedVocabulariesAreRefused) {
  const auto broken = [&](const auto& change) {
    Vocabulary vocabulary;
    change(vocabulary);
    return refusal(vocabulary);
  };
  EXPECT_THAT(broken([](Vocabulary& v) { v.types.pop_back(); }), HasSubstr("10 integers"));
  EXPECT_THAT(broken([](Vocabulary& v) { v.tokens[1] = "a"; }), HasSubstr("tokens 0 and 1 alike"));
  EXPECT_THAT(broken([](Vocabulary& v) { v.tokens[2] = "\xff"; }), HasSubstr("token 2"));
  EXPECT_THAT(broken([](Vocabulary& v) { v.merges[1] = "1 x"; }), HasSubstr("unknown part"));
  EXPECT_THAT(broken([](Vocabulary& v) { v.merges[0] = "ab"; }), HasSubstr("merge 0"));
  EXPECT_THAT(broken([](Vocabulary& v) { v.has_merges = false; }), HasSubstr("merges"));
  EXPECT_THAT(broken([](Vocabulary& v) { v.add_bos = true; }), HasSubstr("bos_token_id"));
  EXPECT_THAT(broken([](Vocabulary& v) {
                v.add_bos = true;
                v.bos = 10;
              }),
              HasSubstr("0 to 9"));
}

}  // namespace
}  // namespace trilith::model
