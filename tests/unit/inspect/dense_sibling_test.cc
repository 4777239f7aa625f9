// The unquantised matrix settles sign, order and the direction of the scale, and only where it is
// the same matrix.
#include "inspect/dense_sibling.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "inspect/decision.h"
#include "support/temp_folder.h"
#include "synthetic.h"

namespace trilith::inspect {
namespace {

using packing::CodeTable;
using packing::PackingSpec;

PackingSpec ternary_rows() {
  PackingSpec spec;
  spec.law.slots = 4;
  spec.code_table = CodeTable::list({-1.0, 0.0, 1.0, std::nullopt});
  spec.scale.index = packing::Scale::Index::kRow;
  return spec;
}

class Sibling : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 48;
  static constexpr int64_t kCols = 128;

  // A master, its ternary form in the store, and the master in a file.
  Sibling() {
    const auto matrix = testing::ternary(random_, testing::strengths(random_, kRows),
                                         testing::strengths(random_, kCols));
    store_.add_packed("m0", matrix, ternary_rows());
    std::normal_distribution<double> noise(0, 0.3);
    for (size_t i = 0; i < matrix.levels.size(); ++i) {
      const auto scale = static_cast<double>(matrix.scales[i / kCols]);
      master_.push_back(static_cast<float>((matrix.levels[i] + noise(random_)) * scale));
    }
  }

  Result<DenseSibling> write_and_open(const std::vector<float>& values, const Shape& shape) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const std::string path = folder_.file("reference.safetensors");
    const std::vector<checkpoint::TensorToWrite> tensors{{"other.name", DType::kF32, shape, bytes}};
    const Status written = checkpoint::write_safetensors(path, tensors, Json::object({}));
    EXPECT_TRUE(written.ok()) << written.error().to_string();
    return DenseSibling::open(path);
  }

  // One arrangement, the readings of these specs, all as likely.
  FamilySearch family_of(const std::vector<PackingSpec>& specs) const {
    PackedModule module;
    module.name = "m0";
    for (const TensorView& view : store_.views()) {
      module.stored[view.name == "m0.scale" ? "scale" : "codes"] = &view;
    }
    module.rows = kRows;
    module.cols = kCols;
    FamilySearch family;
    family.arrangements.push_back({});
    family.arrangements.front().modules = {module};
    for (const PackingSpec& spec : specs) {
      Reading reading;
      reading.hypothesis.spec = spec;
      family.readings.push_back(std::move(reading));
    }
    family.doubts = {"no neighbouring tensor confirms the order of the codes"};
    return family;
  }

  static std::vector<PackingSpec> rivals() {
    const PackingSpec right = ternary_rows();
    PackingSpec turned = right;
    turned.code_table = CodeTable::list({1.0, 0.0, -1.0, std::nullopt});
    PackingSpec reversed = right;
    reversed.law.slot_order = packing::SlotOrder::kHighFirst;
    PackingSpec divided = right;
    divided.scale.op = packing::Scale::Op::kDivide;
    return {turned, reversed, divided, right};
  }

  std::mt19937_64 random_{11};
  testing::TensorStore store_;
  std::vector<float> master_;
  support::TempFolder folder_;
};

TEST_F(Sibling, SettlesSignOrderAndDirection) {
  const auto sibling = write_and_open(master_, {kRows, kCols});
  ASSERT_TRUE(sibling.ok()) << sibling.error().to_string();
  FamilySearch family = family_of(rivals());
  EXPECT_TRUE(settle_by_sibling(family, *sibling));
  EXPECT_EQ(family.readings.front().hypothesis.spec, ternary_rows());
  EXPECT_GT(family.readings[0].hypothesis.nats - family.readings[1].hypothesis.nats, 50);
  EXPECT_TRUE(family.doubts.empty());
}

TEST_F(Sibling, AnotherMatrixSettlesNothing) {
  std::shuffle(master_.begin(), master_.end(), random_);
  const auto sibling = write_and_open(master_, {kRows, kCols});
  ASSERT_TRUE(sibling.ok());
  FamilySearch family = family_of(rivals());
  EXPECT_FALSE(settle_by_sibling(family, *sibling));
  EXPECT_EQ(family.doubts.size(), 1U);
}

TEST_F(Sibling, AnotherShapeIsNotCompared) {
  const auto sibling = write_and_open(master_, {kCols, kRows});
  ASSERT_TRUE(sibling.ok());
  FamilySearch family = family_of(rivals());
  EXPECT_FALSE(settle_by_sibling(family, *sibling));
}

TEST_F(Sibling, ATensorWithoutAPartStaysADoubt) {
  const auto sibling = write_and_open(master_, {kRows, kCols});
  ASSERT_TRUE(sibling.ok());
  FamilySearch family = family_of(rivals());
  family.misfit = true;
  EXPECT_TRUE(settle_by_sibling(family, *sibling));
  EXPECT_EQ(family.doubts.size(), 1U);
}

TEST_F(Sibling, AFileWithoutMatricesIsRefused) {
  const auto sibling = write_and_open({1, 2, 3}, {3});
  ASSERT_FALSE(sibling.ok());
  EXPECT_NE(sibling.error().to_string().find("no matrix of floats"), std::string::npos);
}

}  // namespace
}  // namespace trilith::inspect
