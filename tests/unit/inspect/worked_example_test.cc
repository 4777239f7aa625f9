#include "inspect/worked_example.h"

#include <gtest/gtest.h>

#include <sstream>

#include "synthetic.h"

namespace trilith::inspect {
namespace {

using packing::PackingSpec;

// What the example says of every byte must be what decode makes of it.
void expect_agreement(const PackingSpec& spec) {
  SCOPED_TRACE(packing::describe(spec));
  std::mt19937_64 random(40);
  const auto matrix =
      testing::ternary(random, testing::strengths(random, 128), testing::strengths(random, 64));
  testing::TensorStore store;
  store.add_packed("a", matrix, spec);
  const WorkedExample example = work_example(store.views()[0], 128, 64, spec, nullptr);
  ASSERT_EQ(example.bytes.size(), 8U);
  ASSERT_EQ(example.elements.size(), 8U);
  std::string expected;
  std::string said;
  for (size_t i = 0; i < example.elements.size(); ++i) {
    std::istringstream elements(example.elements[i]);
    std::string element;
    while (elements >> element) {
      std::istringstream place(element);  // "W[n,k]"
      size_t n = 0;
      size_t k = 0;
      ASSERT_TRUE(place.ignore(2) >> n && place.ignore(1) >> k) << element;
      expected += std::to_string(matrix.levels[n * 64 + k]) + " ";
    }
    said += example.levels[i] + " ";
  }
  EXPECT_EQ(said, expected);
}

TEST(WorkedExample, AgreesWithTheCodec) {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.code_table = packing::CodeTable::list({0.0, 1.0, -1.0, std::nullopt});
  spec.scale.index = packing::Scale::Index::kRow;
  for (const auto order : {packing::SlotOrder::kLowFirst, packing::SlotOrder::kHighFirst}) {
    spec.law.slot_order = order;
    for (const auto axis : {packing::Axis::kK, packing::Axis::kN}) {
      spec.law.axis = axis;
      spec.law.stride = {};
      expect_agreement(spec);
      spec.law.stride.value = 16;
      expect_agreement(spec);
      spec.law.stride.kind = packing::Stride::Kind::kExtentOverSlots;
      spec.law.stride.value = 1;
      expect_agreement(spec);
    }
  }
}

TEST(WorkedExample, ReadsDigits) {
  PackingSpec spec;
  spec.symbol = packing::Symbol::kBase3;
  spec.bits = 0;
  spec.law.slots = 5;
  spec.code_table = packing::CodeTable::list({-1.0, 0.0, 1.0});
  spec.scale.index = packing::Scale::Index::kRow;
  for (const auto map : {packing::Digits::Map::kPlain, packing::Digits::Map::kCeil256}) {
    for (const auto order :
         {packing::Digits::Order::kLsbFirst, packing::Digits::Order::kMsbFirst}) {
      spec.digits = {order, map, 0};
      expect_agreement(spec);
    }
  }
}

}  // namespace
}  // namespace trilith::inspect
