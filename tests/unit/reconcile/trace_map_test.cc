// Names of dumps and the points they are given.
#include "reconcile/trace_map.h"

#include <gtest/gtest.h>

namespace trilith::reconcile {
namespace {

TraceMap map_of(const char* text) {
  auto json = Json::parse(text);
  EXPECT_TRUE(json.ok());
  auto map = TraceMap::from_json(*json);
  EXPECT_TRUE(map.ok()) << map.error().to_string();
  return *map;
}

std::string point(const TraceMap& map, const char* name) {
  const auto place = map.find(name);
  return place ? place->point : "-";
}

TEST(TraceMap, CommonNames) {
  const TraceMap& map = TraceMap::builtin();
  const std::pair<const char*, const char*> cases[] = {
      {"layer0_attn_q", "layers.0.q_proj"},
      {"Layer_12.attn-q", "layers.12.q_proj"},
      {"layer07/attn_out", "layers.7.o_proj"},
      {"layers.3.q_rope", "layers.3.q_rope"},
      {"model.layers.3.self_attn.k_proj", "layers.3.k_proj"},
      {"model.layers.3.mlp.down_proj.output", "layers.3.down_proj"},
      {"model_layers_3_post_attention_layernorm_output", "layers.3.post_norm"},
      {"model.layers.11", "layers.11.out"},
      {"layer2", "layers.2.out"},
      {"layer2_output", "layers.2.out"},
      {"layer2_ln1", "layers.2.input_norm"},
      {"ffn_swiglu-4", "layers.4.act"},
      {"l_out-4", "layers.4.out"},
      {"Vcur-0", "layers.0.v_proj"},
      {"Qcur-0", "-"},       // after RoPE, and in another order
      {"layer0_attn", "-"},  // before o_proj or after?
      {"result_norm", "final_norm"},
      {"lm_head", "logits"},
      {"input_ids", "ids"},
      {"p2.layers.3.act", "layers.3.act"},
      {"model.layers.x.mlp", "-"},
      {"layer99999_attn_q", "-"},
      {"layer99999999999999999999_attn_q", "-"},
      {"", "-"},
  };
  for (const auto& [name, wanted] : cases) EXPECT_EQ(point(map, name), wanted) << name;
  EXPECT_EQ(map.find("p2.layers.3.act"), (DumpPlace{"layers.3.act", 2, true}));
  EXPECT_EQ(map.find("embed"), (DumpPlace{"embed", 0, false}));
}

TEST(TraceMap, AMapByHandIsTakenLiterally) {
  const TraceMap map = map_of(R"({"first_layer": 1, "first_prompt": 1, "points": {
      "layers.{i}.q_proj": ["q{i}", "run{p}/q{i}"], "layers.{i}.out": "block{i}-{i}", "logits": "y"}})");
  EXPECT_EQ(map.find("q1"), (DumpPlace{"layers.0.q_proj", 0, false}));
  EXPECT_EQ(map.find("run3/q12"), (DumpPlace{"layers.11.q_proj", 2, true}));
  EXPECT_EQ(point(map, "block4-4"), "layers.3.out");
  EXPECT_EQ(point(map, "block4-5"), "-");
  EXPECT_EQ(point(map, "q0"), "-");
  EXPECT_EQ(point(map, "Q1"), "-");
  EXPECT_EQ(point(map, "layer0_attn_q"), "-");
}

TEST(TraceMap, DamagedMapsSayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "no object 'points'"},
      {R"({"points": {}})", "no object 'points'"},
      {R"({"points": {"embed": 3}})", "'embed' has no name"},
      {R"({"points": {"embed": [3]}})", "no text"},
      {R"({"points": {"": "x"}})", "no name"},
      {R"({"points": {"layers.{i}.out": "x"}})", "only one of"},
      {R"({"points": {"embed": "x{i}"}})", "only one of"},
      {R"({"points": {"embed": "x"}, "first_layer": -1})", "first_layer"},
  };
  for (const auto& [text, words] : cases) {
    const auto map = TraceMap::from_json(*Json::parse(text));
    ASSERT_FALSE(map.ok()) << text;
    EXPECT_NE(map.error().to_string().find(words), std::string::npos) << map.error().to_string();
  }
}

}  // namespace
}  // namespace trilith::reconcile
