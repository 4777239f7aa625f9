#include "inspect/family_search.h"

#include <gtest/gtest.h>

#include "inspect/decision.h"
#include "inspect/numbers.h"
#include "synthetic.h"

namespace trilith::inspect {
namespace {

using model::Role;
using packing::Axis;
using packing::CodeTable;
using packing::Orientation;
using packing::PackingSpec;
using packing::Scale;
using packing::SlotOrder;

constexpr int64_t kHidden = 128;
constexpr int64_t kFfn = 256;

// Two layers of q, k, v, o, gate, up, down whose channels, neurons and value dims have strengths of
// their own, with norms that follow the channels.
struct Model {
  testing::TensorStore store;
  SearchContext context;
  std::vector<testing::Ternary> truth;

  explicit Model(const PackingSpec& spec, uint64_t seed = 20) {
    std::mt19937_64 random(seed);
    context.sizes.hidden = kHidden;
    context.sizes.intermediate = kFfn;
    context.sizes.layers = 2;
    context.sizes.heads = 4;
    context.sizes.kv_heads = 2;
    context.sizes.head_dim = 32;
    context.heads = {2, 32};
    const std::vector<double> channels = testing::strengths(random, kHidden);
    for (int layer = 0; layer < 2; ++layer) {
      const std::vector<double> neurons = testing::strengths(random, kFfn);
      const std::vector<double> queries = testing::strengths(random, 128);
      const std::vector<double> keys = testing::strengths(random, 64);
      add(random, spec, layer, Role::kQProj, queries, channels);
      add(random, spec, layer, Role::kKProj, keys, channels);
      add(random, spec, layer, Role::kVProj, keys, channels);
      add(random, spec, layer, Role::kOProj, channels, queries);
      add(random, spec, layer, Role::kGateProj, neurons, channels);
      add(random, spec, layer, Role::kUpProj, neurons, channels);
      add(random, spec, layer, Role::kDownProj, channels, neurons);
      context.plain.push_back({model::ModuleId{Role::kInputNorm, layer}, channels});
    }
  }

  void add(std::mt19937_64& random, const PackingSpec& spec, int layer, Role role,
           const std::vector<double>& rows, const std::vector<double>& cols) {
    truth.push_back(testing::ternary(random, rows, cols));
    const model::ModuleId id{role, layer};
    store.add_packed(model::module_name(id), truth.back(), spec);
    context.ids[model::module_name(id)] = id;
  }

  FamilySearch search() {
    const auto modules = group_tensors(store.views(), store.summaries());
    const FoundCodes found = find_codes(modules);
    std::vector<const CodeGroup*> groups;
    for (const CodeGroup& group : found.groups) groups.push_back(&group);
    return search_family(groups, context);
  }
};

PackingSpec base_spec() {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.code_table = CodeTable::list({0.0, 1.0, -1.0, std::nullopt});
  spec.scale.index = Scale::Index::kRow;
  spec.scale.dtype = DType::kF16;
  return spec;
}

// Same matrices up to the sign of everything.
bool same_reading(const PackingSpec& found, const PackingSpec& truth) {
  return found.symbol == truth.symbol && found.bits == truth.bits && found.orient == truth.orient &&
         found.law.axis == truth.law.axis && found.law.slots == truth.law.slots &&
         found.law.stride == truth.law.stride && found.law.slot_order == truth.law.slot_order &&
         found.digits.order == truth.digits.order && found.digits.map == truth.digits.map &&
         found.scale == truth.scale;
}

// What no statistic can tell apart: the sign of all codes.
void expect_found(const PackingSpec& truth) {
  SCOPED_TRACE(packing::describe(truth));
  Model model(truth);
  const FamilySearch search = model.search();
  ASSERT_FALSE(search.readings.empty()) << search.refusal;
  const PackingSpec& found = search.readings.front().hypothesis.spec;
  EXPECT_TRUE(same_reading(found, truth)) << packing::describe(found);
  for (const Reading* rival : open_rivals(search.readings, std::nullopt)) {
    EXPECT_TRUE(same_reading(rival->hypothesis.spec, truth))
        << "left open: " << packing::describe(rival->hypothesis.spec);
  }
}

TEST(FamilySearch, FindsOrderStrideAndTableAlongK) {
  PackingSpec spec = base_spec();
  for (const SlotOrder order : {SlotOrder::kLowFirst, SlotOrder::kHighFirst}) {
    for (const int64_t stride : {1, 16, 32}) {
      spec.law.slot_order = order;
      spec.law.stride.value = stride;
      expect_found(spec);
    }
  }
}

TEST(FamilySearch, FindsEveryTable) {
  PackingSpec spec = base_spec();
  for (const auto& levels : {std::vector<std::optional<double>>{-1.0, 0.0, 1.0, std::nullopt},
                             {0.0, 1.0, std::nullopt, -1.0},
                             {std::nullopt, -1.0, 0.0, 1.0}}) {
    spec.code_table = CodeTable::list(levels);
    expect_found(spec);
  }
}

TEST(FamilySearch, FindsTheScaleDirection) {
  PackingSpec spec = base_spec();
  spec.scale.op = Scale::Op::kDivide;
  spec.scale.dtype = DType::kF32;
  expect_found(spec);
}

TEST(FamilySearch, FindsBase3) {
  PackingSpec spec = base_spec();
  spec.symbol = packing::Symbol::kBase3;
  spec.bits = 0;
  spec.law.slots = 5;
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0});
  for (const auto order : {packing::Digits::Order::kLsbFirst, packing::Digits::Order::kMsbFirst}) {
    spec.digits.order = order;
    expect_found(spec);
  }
}

// 128 rows are 26 bytes of five: the two slots left over hold padding, and only in the right digit
// order do they lie behind the last row.
TEST(FamilySearch, PaddingGivesTheDigitOrderAlongN) {
  PackingSpec spec = base_spec();
  spec.symbol = packing::Symbol::kBase3;
  spec.bits = 0;
  spec.law.slots = 5;
  spec.law.axis = Axis::kN;
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0});
  for (const auto order : {packing::Digits::Order::kLsbFirst, packing::Digits::Order::kMsbFirst}) {
    spec.digits.order = order;
    expect_found(spec);
  }
}

TEST(FamilySearch, FindsColumnScales) {
  PackingSpec spec = base_spec();
  Model model(spec);
  testing::TensorStore columns;
  for (const TensorView& view : model.store.views()) {
    std::vector<std::byte> bytes(view.bytes.begin(), view.bytes.end());
    Shape shape = view.shape;
    if (view.name.ends_with(".scale")) {
      const bool wide = view.name.find("down_proj") != std::string::npos;
      shape = {wide ? kFfn : kHidden};
      bytes.clear();
      for (int64_t k = 0; k < shape[0]; ++k) {
        const uint16_t bits = f16_from_f32(0.02F + 0.0001F * static_cast<float>(k % 7));
        bytes.push_back(static_cast<std::byte>(bits & 0xff));
        bytes.push_back(static_cast<std::byte>(bits >> 8));
      }
    }
    columns.add(view.name, view.dtype, shape, std::move(bytes));
  }
  model.store = std::move(columns);
  const FamilySearch search = model.search();
  ASSERT_FALSE(search.readings.empty()) << search.refusal;
  EXPECT_EQ(search.readings.front().hypothesis.spec.scale.index, Scale::Index::kColumn);
}

TEST(FamilySearch, FindsBitPlanes) {
  PackingSpec spec = base_spec();
  spec.symbol = packing::Symbol::kBitPlanes;
  spec.law.slots = 8;
  spec.planes = {packing::PlaneRole::kPositive, packing::PlaneRole::kNegative};
  spec.code_table = CodeTable::rule(CodeTable::Kind::kPlanes);
  expect_found(spec);
}

TEST(FamilySearch, FindsOneCodeAByte) {
  PackingSpec spec = base_spec();
  spec.law.slots = 1;
  expect_found(spec);
  spec.container = DType::kI8;
  spec.code_table = CodeTable::list({0.0, 1.0, std::nullopt, -1.0});
  expect_found(spec);
}

TEST(FamilySearch, FindsTheAxisOfRowPackedMatrices) {
  PackingSpec spec = base_spec();
  spec.law.axis = Axis::kN;
  Model model(spec);
  const FamilySearch search = model.search();
  ASSERT_FALSE(search.readings.empty()) << search.refusal;
  EXPECT_EQ(search.readings.front().hypothesis.spec.law.axis, Axis::kN);
  EXPECT_EQ(search.readings.front().hypothesis.spec.orient, Orientation::kNK);
}

// Without structure there is nothing to align: both orders must stay open.
TEST(FamilySearch, WithoutStructureTheOrderStaysOpen) {
  std::mt19937_64 random(21);
  Model model(base_spec());
  model.store = {};
  for (const auto& [name, id] : model.context.ids) {
    const auto shape =
        model::Role::kDownProj == id.role ? std::pair{kHidden, kFfn} : std::pair{kFfn, kHidden};
    if (id.role != Role::kDownProj && id.role != Role::kUpProj) continue;
    const auto flat = [](int64_t n) { return std::vector<double>(static_cast<size_t>(n), 1.0); };
    model.store.add_packed(name, testing::ternary(random, flat(shape.first), flat(shape.second)),
                           base_spec());
  }
  const FamilySearch search = model.search();
  ASSERT_FALSE(search.readings.empty()) << search.refusal;
  bool other_order = false;
  for (const Reading* rival : open_rivals(search.readings, std::nullopt)) {
    other_order = other_order || rival->arrangement != search.readings.front().arrangement;
  }
  EXPECT_TRUE(other_order);
}

TEST(FamilySearch, NoiseIsRefused) {
  Model model(base_spec());
  testing::TensorStore noise;
  std::mt19937 random(22);
  for (const auto& [name, id] : model.context.ids) {
    if (id.role != Role::kDownProj) continue;
    std::vector<std::byte> bytes(kHidden * kFfn / 4);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    noise.add(name + ".codes", DType::kU8, {kHidden, kFfn / 4}, std::move(bytes));
    noise.add_floats(name + ".scale", {kHidden}, std::vector<float>(kHidden, 0.02F));
  }
  model.store = std::move(noise);
  const FamilySearch search = model.search();
  EXPECT_TRUE(search.readings.empty());
  EXPECT_NE(search.refusal.find("alphabet"), std::string::npos) << search.refusal;
}

TEST(FamilySearch, AScaleOfTheWrongLengthIsRefused) {
  Model model(base_spec());
  testing::TensorStore broken;
  for (const TensorView& view : model.store.views()) {
    const bool scale = view.name.ends_with("gate_proj.scale");
    std::vector<std::byte> bytes(view.bytes.begin(), view.bytes.end());
    if (scale) bytes.resize(bytes.size() - 2);
    broken.add(view.name, view.dtype, scale ? Shape{kFfn - 1} : view.shape, std::move(bytes));
  }
  model.store = std::move(broken);
  const FamilySearch search = model.search();
  EXPECT_TRUE(search.readings.empty());
  EXPECT_NE(search.refusal.find("256"), std::string::npos) << search.refusal;
}

}  // namespace
}  // namespace trilith::inspect
