// Roles, names and shapes; the order of modules and trace points.
#include "model/roles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/trace_sink.h"
#include "support/architectures.h"
#include "support/tiny_spec.h"

namespace trilith::model {
namespace {

// Eleven layers, for names of two digits; heads that do not add up to the hidden size, for shapes.
ModelSpec tiny(bool bitnet) {
  ModelSpec spec = support::tiny_spec(bitnet);
  spec.num_hidden_layers = 11;
  spec.head_dim = 8;
  spec.tie_word_embeddings = bitnet;
  return spec;
}

TEST(Roles, NamesGoBothWays) {
  std::set<std::string> names;
  for (const ModuleId& id : modules_of(tiny(true))) {
    EXPECT_EQ(role_from_name(role_name(id.role)), id.role);
    EXPECT_EQ(module_from_name(module_name(id)), id);
    EXPECT_TRUE(names.insert(module_name(id)).second);
  }
  EXPECT_EQ(module_from_name("lm_head"), (ModuleId{Role::kLmHead, -1}));
  EXPECT_EQ(module_from_name("model.layers.10.self_attn.q_proj"), (ModuleId{Role::kQProj, 10}));
}

TEST(Roles, EveryArchitectureHasItsModulesAndPoints) {
  for (const support::NamedSpec& named : support::architectures()) {
    SCOPED_TRACE(named.name);
    std::set<std::string> names;
    for (const ModuleId& id : modules_of(named.spec)) {
      EXPECT_TRUE(has_role(named.spec, id.role));
      EXPECT_EQ(module_from_name(module_name(id)), id);
      EXPECT_TRUE(names.insert(module_name(id)).second);
      EXPECT_GT(module_shape(named.spec, id.role).rows, 0);
    }
    const std::string norm = "model.layers.1.self_attn.q_norm";
    EXPECT_EQ(names.contains(norm), named.spec.qk_norm);
    const auto points = trace_points(named.spec);
    EXPECT_EQ(std::ranges::count(points, "layers.1.q_norm"), named.spec.qk_norm ? 1 : 0);
    EXPECT_EQ(std::ranges::count(points, "layers.1.q_rope"), named.spec.layer(1).rope ? 1 : 0);
  }
}

TEST(Roles, OtherSpellingsAreNoModules) {
  for (const char* name :
       {"", "q_proj", "self_attn.q_proj", "model.layers.q_proj", "model.layers.-1.self_attn.q_proj",
        "model.layers.01.self_attn.q_proj", "model.layers.4096.self_attn.q_proj",
        "model.layers.1.self_attn.q_proj.weight", "model.layers.1self_attn.q_proj",
        "model.layers.1.model.norm", "model.layers.1.lm_head",
        "model.layers.99999999999999999999.self_attn.q_proj", "layers.1.self_attn.q_proj",
        "model.layers.1.", "model.layers.", "norm"}) {
    EXPECT_FALSE(module_from_name(name).has_value()) << name;
  }
}

TEST(Roles, ModulesInExecutionOrder) {
  const auto llama = modules_of(tiny(false));
  ASSERT_EQ(llama.size(), 1U + 11 * 9 + 2);
  EXPECT_EQ(llama.front().role, Role::kEmbedding);
  EXPECT_EQ(llama[1], (ModuleId{Role::kInputNorm, 0}));
  EXPECT_EQ(llama[5], (ModuleId{Role::kOProj, 0}));
  EXPECT_EQ(llama.back().role, Role::kLmHead);
  const auto bitnet = modules_of(tiny(true));
  ASSERT_EQ(bitnet.size(), 1U + 11 * 11 + 1);  // tied: no head
  EXPECT_EQ(bitnet[5], (ModuleId{Role::kAttnSubNorm, 0}));
  EXPECT_EQ(bitnet.back().role, Role::kFinalNorm);
}

TEST(Roles, ShapesFollowTheHeads) {
  const ModelSpec spec = tiny(false);
  const auto shape = [&](Role role) {
    const MatrixShape s = module_shape(spec, role);
    return std::pair(s.rows, s.cols);
  };
  EXPECT_EQ(shape(Role::kQProj), std::pair(32L, 24L));
  EXPECT_EQ(shape(Role::kKProj), std::pair(16L, 24L));
  EXPECT_EQ(shape(Role::kOProj), std::pair(24L, 32L));
  EXPECT_EQ(shape(Role::kAttnSubNorm), std::pair(32L, 1L));
  EXPECT_EQ(shape(Role::kDownProj), std::pair(24L, 40L));
  EXPECT_EQ(shape(Role::kFfnSubNorm), std::pair(40L, 1L));
  EXPECT_EQ(shape(Role::kLmHead), std::pair(37L, 24L));
}

TEST(Roles, DestinationsInOtherPrograms) {
  const auto vllm = vllm_destination({Role::kVProj, 3});
  EXPECT_EQ(vllm.name, "model.layers.3.self_attn.qkv_proj.weight");
  EXPECT_EQ(vllm.op + vllm.shard, "mergev");
  const auto up = vllm_destination({Role::kUpProj, 3});
  EXPECT_EQ(up.name, "model.layers.3.mlp.gate_up_proj.weight");
  EXPECT_EQ(up.shard, "1");
  EXPECT_EQ(vllm_destination({Role::kDownProj, 3}).op, "copy");
  EXPECT_EQ(transformers_destination({Role::kFinalNorm, -1}).name, "model.norm.weight");
  const auto key = gguf_destination({Role::kKProj, 3});
  EXPECT_EQ(key.name, "blk.3.attn_k.weight");
  EXPECT_EQ(key.op, "permute");
  EXPECT_EQ(gguf_destination({Role::kKProj, 3}, "bitnet").op, "copy");
  EXPECT_EQ(gguf_destination({Role::kVProj, 3}).op, "copy");
  EXPECT_EQ(gguf_destination({Role::kQProj, 3}, "qwen3").op, "copy");
  EXPECT_EQ(gguf_destination({Role::kQProj, 3}, "qwen2").op, "copy");
  EXPECT_EQ(gguf_destination({Role::kQProj, 3}, "mistral").op, "permute");
  EXPECT_EQ(gguf_destination({Role::kQProj, 3}, "smollm3").op, "permute");
  EXPECT_EQ(gguf_destination({Role::kQNorm, 3}, "qwen3").name, "blk.3.attn_q_norm.weight");
  EXPECT_EQ(gguf_destination({Role::kEmbedding, -1}).name, "token_embd.weight");
}

TEST(Roles, TracePointsInExecutionOrder) {
  const auto llama = trace_points(tiny(false));
  ASSERT_EQ(llama.size(), 1U + 11 * 15 + 2);
  EXPECT_EQ(llama.front(), "embed");
  EXPECT_EQ(llama[1], "layers.0.input_norm");
  EXPECT_EQ(llama.back(), "logits");
  const auto bitnet = trace_points(tiny(true));
  ASSERT_EQ(bitnet.size(), 1U + 11 * 17 + 2);
  EXPECT_EQ(bitnet[8], "layers.0.attn_sub_norm");
}

}  // namespace
}  // namespace trilith::model
