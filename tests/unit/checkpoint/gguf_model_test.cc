// GGUF names and keys in the terms of transformers.
#include "checkpoint/gguf_model.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "raw_gguf.h"
#include "support/temp_folder.h"

namespace trilith::checkpoint {
namespace {

RawGguf llama() {
  RawGguf file;
  file.text("general.architecture", "llama");
  file.number("llama.embedding_length", 16);
  file.number("llama.feed_forward_length", 24);
  file.number("llama.block_count", 1);
  file.number("llama.attention.head_count", 4);
  file.key("llama.attention.layer_norm_rms_epsilon", 6, little_endian(1e-5F));
  file.tensor("token_embd.weight", {16, 10}, 0, 640);
  return file;
}

TEST(GgufModel, NamesTensorsAsTransformersDoes) {
  EXPECT_EQ(transformers_name("token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(transformers_name("output.weight"), "lm_head.weight");
  EXPECT_EQ(transformers_name("blk.12.attn_q.bias"), "model.layers.12.self_attn.q_proj.bias");
  EXPECT_EQ(transformers_name("blk.0.ffn_down.weight_scale"),
            "model.layers.0.mlp.down_proj.weight_scale");
  for (const char* name :
       {"rope_freqs.weight", "blk.0", "blk.x.attn_q.weight", "blk..attn_q.weight",
        "blk.01.attn_q.weight", "blk.0.attn_z.weight", "attn_q.weight", ""}) {
    EXPECT_EQ(transformers_name(name), std::nullopt) << name;
  }
}

TEST(GgufModel, KnowsWhichArchitecturesPermuteRows) {
  EXPECT_TRUE(gguf_architecture("llama")->permutes_qk);
  EXPECT_FALSE(gguf_architecture("qwen3")->permutes_qk);
  EXPECT_FALSE(gguf_architecture("bitnet-b1.58")->permutes_qk);
  EXPECT_EQ(gguf_architecture("mamba"), nullptr);
}

TEST(GgufModel, TheKeysAreTheConfig) {
  const support::TempFolder folder;
  folder.write("m.gguf", llama().bytes());
  folder.write("config.json", R"({"model_type":"other"})");
  auto opened = Checkpoint::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  EXPECT_EQ(opened->container(), Container::kGguf);
  EXPECT_EQ(opened->config().dump(),
            R"({"model_type":"llama","hidden_act":"silu","hidden_size":16,"intermediate_size":24,)"
            R"("num_hidden_layers":1,"num_attention_heads":4,"vocab_size":10,"rms_norm_eps":1e-05,)"
            R"("rope_theta":10000.0,"tie_word_embeddings":true,"attention_bias":false,)"
            R"("mlp_bias":false})");
  EXPECT_EQ(opened->side_json("config.json")->dump(), R"({"model_type":"other"})");
  EXPECT_TRUE(opened->side_json("quantize_config.json")->is_null());
  ASSERT_NE(opened->ggml_claim("token_embd.weight"), nullptr);
  EXPECT_EQ(opened->ggml_claim("other"), nullptr);
}

TEST(GgufModel, AConfigBesideServesWhereTheKeysDoNot) {
  const support::TempFolder folder;
  RawGguf file;
  file.text("general.architecture", "mamba");
  file.tensor("a", {2}, 0, 8);
  folder.write("m.gguf", file.bytes());
  folder.write("config.json", R"({"model_type":"mamba"})");
  const auto opened = Checkpoint::open(folder.file("m.gguf"));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->config()["model_type"], Json("mamba"));
}

TEST(GgufModel, RefusesSenselessSizes) {
  const auto config = [](const RawGguf& file) {
    const std::string bytes = file.bytes();
    const auto content = parse_gguf(std::as_bytes(std::span(bytes)), "f");
    return gguf_config(content->metadata, content->arrays, content->tensors);
  };
  ASSERT_TRUE(config(llama()).ok());
  RawGguf file = llama();
  file.number("llama.context_length", 0);
  EXPECT_NE(config(file).error().to_string().find("llama.context_length"), std::string::npos);
  file = llama();
  file.array("llama.attention.head_count_kv", 4, 1, little_endian<uint32_t>(2));
  EXPECT_NE(config(file).error().to_string().find("differs between layers"), std::string::npos);
  EXPECT_FALSE(config(RawGguf()).ok());
  file = llama();
  file.tensor("rope_freqs.weight", {2}, 0, 8);
  EXPECT_EQ((*config(file))["rope_scaling"].dump(), R"({"rope_type":"rope_freqs"})");
}

TEST(GgufModel, PartsOfASplitFileAreOneCheckpoint) {
  const support::TempFolder folder;
  RawGguf second;
  second.number("split.no", 1);
  second.tensor("output.weight", {16, 10}, 0, 640);
  folder.write("m-00001-of-00002.gguf", llama().bytes());
  folder.write("m-00002-of-00002.gguf", second.bytes());
  for (const std::string& path : {folder.path(), folder.file("m-00002-of-00002.gguf")}) {
    const auto opened = Checkpoint::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    EXPECT_EQ(opened->container(), Container::kGgufSharded);
    EXPECT_EQ(opened->config()["tie_word_embeddings"], Json(false));
    EXPECT_EQ(opened->file_of("output.weight"), folder.file("m-00002-of-00002.gguf"));
    EXPECT_EQ(opened->ggml_claim("output.weight")->shape, (Shape{10, 16}));
  }
  folder.write("m-00002-of-00002.gguf", llama().bytes());
  const auto twice = Checkpoint::open(folder.path());
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().tensor, "token_embd.weight");
}

}  // namespace
}  // namespace trilith::checkpoint
