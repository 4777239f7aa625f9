#include "inspect/grouping.h"

#include <gtest/gtest.h>

#include "inspect/name_roles.h"
#include "synthetic.h"

namespace trilith::inspect {
namespace {

TEST(Grouping, NaturalOrderCountsDigits) {
  EXPECT_TRUE(natural_less("m2.p0", "m10.p0"));
  EXPECT_FALSE(natural_less("m10.p0", "m2.p0"));
  EXPECT_TRUE(natural_less("layers.9.x", "layers.10.a"));
  EXPECT_TRUE(natural_less("t007", "t07"));  // equal numbers: by text, so that it stays an order
  EXPECT_FALSE(natural_less("t007", "t007"));
  EXPECT_TRUE(natural_less("m1", "m1.p0"));
}

TEST(Grouping, CommonPrefixesMakeModules) {
  testing::TensorStore store;
  store.add_floats("m10.p1", {1}, {1});
  store.add_floats("m2.p0", {1}, {1});
  store.add_floats("m10.p0", {1}, {1});
  store.add_floats("lone", {1}, {1});
  const auto modules = group_tensors(store.views(), store.summaries());
  ASSERT_EQ(modules.size(), 3U);
  EXPECT_EQ(modules[0].name, "lone");
  EXPECT_EQ(modules[1].name, "m2");
  EXPECT_EQ(modules[2].name, "m10");
  EXPECT_EQ(modules[2].parts.size(), 2U);
  EXPECT_EQ(modules[0].parts.front().suffix, "");
}

TEST(Grouping, TemplatesCountNames) {
  testing::TensorStore store;
  store.add_floats("a.0.x", {1}, {1});
  store.add_floats("a.11.x", {1}, {1});
  store.add_floats("b", {1}, {1});
  const auto templates = name_templates(store.views());
  ASSERT_EQ(templates.size(), 2U);
  EXPECT_EQ(templates[0].text, "a.{i}.x");
  EXPECT_EQ(templates[0].count, 2);
}

TEST(NameRoles, SpellingsOfTheField) {
  using model::ModuleId;
  using model::Role;
  const auto is = [](std::string_view name, Role role, int64_t layer) {
    const auto id = id_from_name(name);
    return id.has_value() && *id == ModuleId{role, layer};
  };
  EXPECT_TRUE(is("model.layers.3.self_attn.q_proj", Role::kQProj, 3));
  EXPECT_TRUE(is("blk.11.ffn_down", Role::kDownProj, 11));
  EXPECT_TRUE(is("layers.0.attention.wo", Role::kOProj, 0));
  EXPECT_TRUE(is("layers.2.feed_forward.w3", Role::kUpProj, 2));
  EXPECT_TRUE(is("model.layers.1.post_attention_layernorm", Role::kPostNorm, 1));
  EXPECT_TRUE(is("model.layers.1.self_attn.attn_sub_norm", Role::kAttnSubNorm, 1));
  EXPECT_TRUE(is("model.embed_tokens", Role::kEmbedding, -1));
  EXPECT_TRUE(is("model.norm", Role::kFinalNorm, -1));
  EXPECT_FALSE(id_from_name("m03").has_value());
  EXPECT_FALSE(id_from_name("q_proj").has_value());  // no layer
  EXPECT_FALSE(id_from_name("model.layers.1.self_attn.rotary_emb").has_value());
}

}  // namespace
}  // namespace trilith::inspect
