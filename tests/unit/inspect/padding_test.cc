#include "inspect/padding.h"

#include <gtest/gtest.h>

#include "synthetic.h"

namespace trilith::inspect {
namespace {

using packing::Digits;

// 128 rows are 26 bytes of five digits: two are left over, and lie behind the last row only when
// the digits are read in the order they were written in.
TEST(Padding, IsConstantInTheRightOrderAlone) {
  std::mt19937_64 random(30);
  const auto matrix =
      testing::ternary(random, testing::strengths(random, 128), testing::strengths(random, 64));
  for (const auto order : {Digits::Order::kLsbFirst, Digits::Order::kMsbFirst}) {
    packing::PackingSpec spec;
    spec.symbol = packing::Symbol::kBase3;
    spec.bits = 0;
    spec.law.slots = 5;
    spec.law.axis = packing::Axis::kN;
    spec.digits.order = order;
    spec.code_table = packing::CodeTable::list({-1.0, 0.0, 1.0});
    spec.scale.index = packing::Scale::Index::kRow;
    testing::TensorStore store;
    store.add_packed("a", matrix, spec);
    PackedModule module;
    module.rows = 128;
    module.cols = 64;
    module.stored["codes"] = &store.views()[0];
    int positive = 0;
    for (const Geometry& geometry : enumerate_geometries(DType::kU8, 1)) {
      const auto& law = geometry.spec.law;
      if (geometry.spec.symbol != packing::Symbol::kBase3 || law.axis != packing::Axis::kN ||
          geometry.spec.orient != packing::Orientation::kNK || geometry.has_scale ||
          geometry.spec.digits.map != Digits::Map::kPlain) {
        continue;
      }
      const double nats = padding_nats(geometry, module);
      EXPECT_EQ(nats > 0, geometry.spec.digits.order == order) << nats;
      EXPECT_EQ(cropped_weights(geometry.spec, module) == 0, geometry.spec.digits.order == order);
      positive += nats > 0 ? 1 : 0;
    }
    EXPECT_EQ(positive, 1);
  }
}

TEST(Padding, NoSlotLeftOverSaysNothing) {
  std::mt19937_64 random(31);
  const auto matrix =
      testing::ternary(random, testing::strengths(random, 8), testing::strengths(random, 64));
  packing::PackingSpec spec;
  spec.law.slots = 4;
  spec.code_table = packing::CodeTable::list({0.0, 1.0, -1.0, std::nullopt});
  spec.scale.index = packing::Scale::Index::kRow;
  testing::TensorStore store;
  store.add_packed("a", matrix, spec);
  PackedModule module;
  module.rows = 8;
  module.cols = 64;
  module.stored["codes"] = &store.views()[0];
  Geometry geometry;
  geometry.spec = spec;
  geometry.spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kUnsigned);
  geometry.spec.scale.index = packing::Scale::Index::kNone;
  EXPECT_EQ(padding_nats(geometry, module), 0);
}

}  // namespace
}  // namespace trilith::inspect
