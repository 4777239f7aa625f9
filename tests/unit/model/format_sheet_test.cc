// Format sheets: what is read out of them, and what is refused.
#include "model/format_sheet.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace trilith::model {
namespace {

Json stored(const char* codes, const char* scale) {
  return Json::object({{"codes", Json::object({{"name", codes}, {"dtype", "U8"}})},
                       {"scale", Json::object({{"name", scale}})}});
}

Json module(const char* name) {
  packing::PackingSpec spec;
  spec.law.slots = 4;
  spec.code_table = packing::CodeTable::list({0.0, 1.0, -1.0, std::nullopt});
  spec.scale.index = packing::Scale::Index::kRow;
  return Json::object({{"name", name},
                       {"shape", Json(Json::Array{8, 16})},
                       {"stored", stored("a", "b")},
                       {"spec", packing::to_json(spec)}});
}

Json with(Json object, const char* key, Json value) {
  object.set(key, std::move(value));
  return object;
}

Json sheet(Json::Array modules, Json::Array plain = {}) {
  return Json::object({{"schema", "trilith.sheet/1"},
                       {"verdict", "identified"},
                       {"modules", Json(std::move(modules))},
                       {"plain", Json(std::move(plain))}});
}

FormatSheet read(const Json& json) {
  const auto result = format_sheet_from_json(json);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok() ? *result : FormatSheet();
}

TEST(FormatSheet, SaysWhatAModuleIsInThreeWays) {
  const Json by_role = with(with(module("m00"), "role", "k_proj"), "layer", 3);
  const Json mapped = with(
      with(module("m01"), "role", "q_proj"), "map",
      Json::object(
          {{"transformers",
            Json::object({{"name", "model.layers.4.self_attn.q_proj.weight"}, {"op", "copy"}})}}));
  const Json by_name = module("model.layers.5.mlp.up_proj");
  const Json stranger = module("vision.tower.3");
  const FormatSheet result = read(sheet({by_role, mapped, by_name, stranger}));
  ASSERT_EQ(result.modules.size(), 3U);
  EXPECT_EQ(result.modules[0].id, (ModuleId{Role::kKProj, 3}));
  EXPECT_EQ(result.modules[1].id, (ModuleId{Role::kQProj, 4}));
  EXPECT_EQ(result.modules[2].id, (ModuleId{Role::kUpProj, 5}));
  EXPECT_EQ(result.modules[0].name, "m00");
  EXPECT_EQ(result.modules[0].rows, 8);
  EXPECT_EQ(result.modules[0].cols, 16);
  EXPECT_EQ(result.modules[0].stored.at("codes"), "a");
  EXPECT_EQ(result.modules[0].stored.at("scale"), "b");
  EXPECT_EQ(result.modules[0].spec.law.slots, 4);
  EXPECT_EQ(result.find({Role::kUpProj, 5}), &result.modules[2]);
  EXPECT_EQ(result.find({Role::kUpProj, 4}), nullptr);
}

TEST(FormatSheet, SaysWhatAPlainTensorIs) {
  const FormatSheet result = read(
      sheet({}, {Json::object({{"name", "t0"}, {"module", "model.norm"}}),
                 Json::object({{"name", "t1"}, {"role", "input_norm"}, {"layer", 2}}),
                 Json::object({{"name", "t2"}, {"role", "lm_head"}}),
                 Json::object({{"name", "t3"}, {"module", "model.layers.0.self_attn.q_proj.bias"}}),
                 Json::object({{"name", "model.layers.0.self_attn.k_proj.bias"}}),
                 Json::object({{"name", "model.embed_tokens.weight"}, {"dtype", "F16"}}),
                 Json::object({{"name", "rotary_emb.inv_freq"}})}));
  const std::map<std::string, std::string> expected = {
      {"model.norm", "t0"},
      {"model.layers.2.input_layernorm", "t1"},
      {"lm_head", "t2"},
      {"model.layers.0.self_attn.q_proj.bias", "t3"},
      {"model.layers.0.self_attn.k_proj.bias", "model.layers.0.self_attn.k_proj.bias"},
      {"model.embed_tokens", "model.embed_tokens.weight"}};
  EXPECT_EQ(result.plain, expected);
}

TEST(FormatSheet, ActivationIsWhatAllModulesAgreeOn) {
  const Json a = with(module("model.layers.0.mlp.up_proj"), "activation", "dynamic-token");
  const Json b = with(module("model.layers.0.mlp.gate_proj"), "activation", "dynamic-token");
  EXPECT_EQ(read(sheet({a, b})).activation, Json("dynamic-token"));
  EXPECT_TRUE(read(sheet({a, with(b, "activation", "none")})).activation.is_null());
}

TEST(FormatSheet, ReadsBackWhatItWrites) {
  const Json a = with(with(module("m00"), "role", "k_proj"), "layer", 3);
  FormatSheet first = read(sheet({with(a, "activation", "none"), module("lm_head")},
                                 {Json::object({{"name", "t0"}, {"module", "model.norm"}})}));
  first.activation = "none";
  const FormatSheet second = read(to_json(first));
  EXPECT_EQ(to_json(second), to_json(first));
  EXPECT_EQ(second.modules.at(1).id, first.modules.at(1).id);
  EXPECT_EQ(second.modules.at(0).spec, first.modules.at(0).spec);
  EXPECT_EQ(second.plain, first.plain);
  EXPECT_EQ(second.activation, first.activation);
}

struct BadSheet {
  const char* what;
  Json json;
  ErrorKind kind;
  const char* says;
};

std::vector<BadSheet> bad_sheets() {
  constexpr auto kDamaged = ErrorKind::kDamaged;
  const Json good = module("model.layers.0.mlp.up_proj");
  const Json plain = Json::object({{"name", "t0"}, {"module", "model.norm"}});
  const auto shape = [](Json a, Json b) { return Json(Json::Array{std::move(a), std::move(b)}); };
  return {
      {"no object", Json(Json::Array{}), kDamaged, "an object"},
      {"no schema", Json::object(), ErrorKind::kUnsupported, "trilith.sheet/1"},
      {"another schema", with(sheet({}), "schema", "trilith.sheet/2"), ErrorKind::kUnsupported,
       "trilith.sheet/2"},
      {"ambiguous", with(with(sheet({}), "verdict", "ambiguous"), "reason", "sign of codes"),
       ErrorKind::kAmbiguous, "sign of codes"},
      {"refused", with(with(sheet({}), "verdict", "refused"), "reason", "noise"),
       ErrorKind::kUnsupported, "noise"},
      {"verdict unknown", with(sheet({}), "verdict", "maybe"), kDamaged, "verdict"},
      {"modules no array", with(sheet({}), "modules", Json::object()), kDamaged, "modules"},
      {"module no object", sheet({Json(3)}), kDamaged, "modules[0].name"},
      {"name empty", sheet({with(good, "name", "")}), kDamaged, "modules[0].name"},
      {"name no string", sheet({good, with(good, "name", 3)}), kDamaged, "modules[1].name"},
      {"role unknown", sheet({with(good, "role", "router")}), kDamaged, "modules[0].role"},
      {"layer negative", sheet({with(with(good, "role", "up_proj"), "layer", -1)}), kDamaged,
       "modules[0].layer"},
      {"layer absurd", sheet({with(with(good, "role", "up_proj"), "layer", 1 << 20)}), kDamaged,
       "modules[0].layer"},
      {"no shape", sheet({with(good, "shape", nullptr)}), kDamaged, "modules[0].shape"},
      {"shape of three", sheet({with(good, "shape", Json(Json::Array{1, 2, 3}))}), kDamaged,
       "modules[0].shape"},
      {"shape negative", sheet({with(good, "shape", shape(-8, 16))}), kDamaged, "modules[0].shape"},
      {"shape zero", sheet({with(good, "shape", shape(8, 0))}), kDamaged, "modules[0].shape"},
      {"shape absurd", sheet({with(good, "shape", shape(8, int64_t{1} << 40))}), kDamaged,
       "modules[0].shape"},
      {"nothing stored", sheet({with(good, "stored", Json::object())}), kDamaged,
       "modules[0].stored"},
      {"stored name no string",
       sheet({with(good, "stored", Json::object({{"codes", Json::object({{"name", 1}})}}))}),
       kDamaged, "modules[0].stored.codes.name"},
      {"no spec", sheet({with(good, "spec", "2 bit")}), kDamaged, "modules[0].spec"},
      {"one module twice", sheet({good, good}), kDamaged, "every module once"},
      {"plain no array", with(sheet({}), "plain", 3), kDamaged, "plain"},
      {"plain without name", sheet({}, {Json::object({{"module", "model.norm"}})}), kDamaged,
       "plain[0].name"},
      {"plain of no module", sheet({}, {with(plain, "module", "model.nose")}), kDamaged,
       "plain[0].module"},
      {"one plain twice", sheet({}, {plain, plain}), kDamaged, "every module once"},
  };
}

TEST(FormatSheet, RefusesByName) {
  for (const BadSheet& bad : bad_sheets()) {
    SCOPED_TRACE(bad.what);
    const support::TempFolder folder;
    const std::string path = folder.write("sheet.json", bad.json.dump());
    const auto result = read_format_sheet(path);
    if (result.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    EXPECT_EQ(result.error().kind, bad.kind) << result.error().to_string();
    EXPECT_EQ(result.error().file, path);
    EXPECT_NE(result.error().to_string().find(bad.says), std::string::npos)
        << result.error().to_string();
  }
}

}  // namespace
}  // namespace trilith::model
