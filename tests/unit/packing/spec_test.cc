// Specs as JSON, as text, and what makes them inconsistent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "packing/catalogue.h"
#include "random_spec.h"

namespace trilith::packing {
namespace {

using ::testing::HasSubstr;
using testing::random_spec_for_json;

RC_GTEST_PROP(SpecJson, EverySpecComesBack, ()) {
  const PackingSpec spec = random_spec_for_json();
  const Json json = to_json(spec);
  RC_LOG() << json.dump(1) << "\n";
  if (const auto status = validate(spec); !status.ok()) RC_FAIL(status.error().to_string());
  const auto text = Json::parse(json.dump());
  RC_ASSERT(text.ok());
  const auto back = spec_from_json(*text);
  if (!back.ok()) RC_FAIL(back.error().to_string());
  RC_ASSERT(*back == spec);
}

TEST(SpecJson, CatalogueComesBack) {
  for (const CatalogueRow& row : catalogue()) {
    ASSERT_TRUE(validate(row.spec).ok()) << row.name << validate(row.spec).error().to_string();
    const auto back = spec_from_json(to_json(row.spec));
    ASSERT_TRUE(back.ok()) << row.name << ": " << back.error().to_string();
    EXPECT_EQ(*back, row.spec) << row.name;
    EXPECT_EQ(name_of(row.spec), &row);
    EXPECT_EQ(find_format(row.name), &row);
  }
  EXPECT_EQ(find_format("k5"), nullptr);
}

std::string error_of(const std::string& text) {
  const auto json = Json::parse(text);
  if (!json.ok()) return "no JSON";
  const auto spec = spec_from_json(*json);
  return spec.ok() ? "accepted" : spec.error().to_string();
}

TEST(SpecJson, UnknownKeysAndWrongTypesAreNamed) {
  const std::string table = R"("code_table": [0, 1, -1, null])";
  EXPECT_EQ(error_of("{" + table + "}"), "accepted");
  EXPECT_THAT(error_of("{" + table + R"(, "colour": 1})"), HasSubstr("'colour'"));
  EXPECT_THAT(error_of("{" + table + R"(, "law": {"slotz": 4}})"), HasSubstr("'law.slotz'"));
  EXPECT_THAT(error_of("{" + table + R"(, "law": {"slots": "4"}})"),
              HasSubstr("'law.slots' (expected an integer; found a string)"));
  EXPECT_THAT(error_of("{" + table + R"(, "law": 4})"), HasSubstr("'law'"));
  EXPECT_THAT(error_of("{" + table + R"(, "law": {"slots": 99999999999}})"),
              HasSubstr("'law.slots'"));
  EXPECT_THAT(error_of("{" + table + R"(, "law": {"fields": [{"kind": "code"}]}})"),
              HasSubstr("'law.fields.kind'"));
  EXPECT_THAT(error_of("{" + table + R"(, "scale": {"index": "rows"}})"),
              HasSubstr("'scale.index'"));
  EXPECT_THAT(error_of("{" + table + R"(, "zero_dtype": "F16"})"), HasSubstr("'zero_dtype'"));
  EXPECT_THAT(error_of(R"({"code_table": [true]})"), HasSubstr("'code_table'"));
  EXPECT_THAT(error_of(R"({"code_table": "q-x"})"), HasSubstr("'code_table'"));
  EXPECT_THAT(error_of("[]"), HasSubstr("an object"));
}

TEST(SpecJson, StridesInWords) {
  EXPECT_EQ(to_json(find_format("hf-bitnet")->spec)["law"]["stride"], Json("N*K/4"));
  PackingSpec gptq = find_format("hf-bitnet")->spec;
  gptq.orient = Orientation::kKN;
  gptq.law.axis = Axis::kK;
  gptq.law.stride = Stride{};
  EXPECT_EQ(to_json(gptq)["law"]["stride"], Json("N"));
  gptq.law.stride.value = 3;
  EXPECT_EQ(to_json(gptq)["law"]["stride"], Json("3*N"));
  EXPECT_EQ(*spec_from_json(to_json(gptq)), gptq);
  Json json = to_json(gptq);
  json.set("orient", "NK");  // now N-adjacent words would be "K"
  EXPECT_FALSE(spec_from_json(json.set("law", Json(gptq.law.slots))).ok());
}

TEST(Spec, InconsistentValuesAreRefused) {
  const PackingSpec good = find_format("k4-low-0pm")->spec;
  ASSERT_TRUE(validate(good).ok());
  const auto broken = [&](const auto& change) {
    PackingSpec spec = good;
    change(spec);
    return !validate(spec).ok();
  };
  EXPECT_TRUE(broken([](PackingSpec& s) { s.law.slots = 5; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.law.word_bits = 12; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.bits = 9; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.law.stride.value = 0; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.law.stride.value = int64_t{1} << 40; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.code_table.levels.resize(5); }));
  EXPECT_TRUE(broken([](PackingSpec& s) {
    s.law.slot_order = SlotOrder::kExplicit;
    s.law.explicit_order = {0, 1, 1, 3};
  }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.scale.place = Scale::Place::kTail; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.scale.index = Scale::Index::kModulo; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.scale.factor = 0; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.zero.kind = Zero::Kind::kInteger; }));  // F32 zeros
  EXPECT_TRUE(broken([](PackingSpec& s) { s.law.block_elements = 3; }));
  EXPECT_TRUE(broken([](PackingSpec& s) { s.law.tensor_fields = {Field{}, Field{}}; }));
}

TEST(Spec, DescribesItself) {
  EXPECT_EQ(describe(find_format("k4-low-0pm")->spec),
            "2-bit, 4 a byte along K, low first, {0,+1,−1,∅}, row scale F16 multiply");
  EXPECT_EQ(describe(find_format("hf-bitnet-inverse")->spec),
            "2-bit, 4 a byte along N in 4 equal parts, low first, {−1,0,+1,∅}, "
            "tensor scale BF16 divide");
}

TEST(CodeTable, Rules) {
  using Kind = CodeTable::Kind;
  using ::testing::ElementsAre;
  EXPECT_THAT(CodeTable::rule(Kind::kTwosComplement).resolve(2), ElementsAre(0, 1, -2, -1));
  EXPECT_THAT(CodeTable::rule(Kind::kSignMagnitude).resolve(2), ElementsAre(0, 1, 0, -1));
  EXPECT_THAT(CodeTable::rule(Kind::kOffset, 2).resolve(2), ElementsAre(-2, -1, 0, 1));
  EXPECT_THAT(CodeTable::list({5.0}).resolve(1), ElementsAre(5.0, std::nullopt));
  EXPECT_THAT(CodeTable::list({-1.0, 0.0, 1.0}).resolve(0), ElementsAre(-1, 0, 1));
  const auto e2m1 = CodeTable::rule(Kind::kE2M1).resolve(4);
  EXPECT_THAT(std::vector(e2m1.begin(), e2m1.begin() + 8), ElementsAre(0, .5, 1, 1.5, 2, 3, 4, 6));
  EXPECT_EQ(e2m1[15], -6);
  const auto e4m3 = CodeTable::rule(Kind::kE4M3).resolve(8);
  EXPECT_EQ(e4m3[0x7e], 448);
  EXPECT_EQ(e4m3[0x7f], std::nullopt);
  EXPECT_EQ(e4m3[0x01], 0x1p-9);
  const auto e5m2 = CodeTable::rule(Kind::kE5M2).resolve(8);
  EXPECT_EQ(e5m2[0x7b], 57344);
  EXPECT_EQ(e5m2[0x7c], std::nullopt);
}

}  // namespace
}  // namespace trilith::packing
