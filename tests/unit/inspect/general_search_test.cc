// The general search on formats it was not told of: int4 in groups with a bias, in columns with
// packed zero points, and bytes that are no weights.
#include "inspect/general_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inspect/decision.h"
#include "inspect/group_evidence.h"
#include "inspect/level_shape.h"
#include "synthetic.h"

namespace trilith::inspect {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::QuantMatrix;
using packing::Scale;
using packing::Zero;

// Affine rounding of a Gaussian master in groups along K.
QuantMatrix affine(std::mt19937_64& random, const std::vector<double>& row_strength,
                   const std::vector<double>& col_strength, const PackingSpec& spec) {
  std::normal_distribution<double> normal;
  QuantMatrix matrix;
  matrix.rows = static_cast<int64_t>(row_strength.size());
  matrix.cols = static_cast<int64_t>(col_strength.size());
  matrix.bits = spec.bits;
  matrix.levels = packing::levels_of(spec);
  matrix.scale = spec.scale;
  matrix.zero = spec.zero;
  const auto group = static_cast<size_t>(spec.scale.group);
  const double top = (1 << spec.bits) - 1;
  for (const double row : row_strength) {
    for (size_t begin = 0; begin < col_strength.size(); begin += group) {
      std::vector<double> values;
      for (size_t k = begin; k < begin + group; ++k) {
        values.push_back(normal(random) * row * col_strength[k] * 0.02);
      }
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      const float scale = f32_from_f16(f16_from_f32(static_cast<float>((*high - *low) / top)));
      const double step = static_cast<double>(scale);
      const double zero = std::clamp(std::round(-*low / step), 0.0, top);
      matrix.scales.push_back(scale);
      const bool bias = spec.zero.kind == Zero::Kind::kFloatBias;
      const auto stored = static_cast<float>(bias ? -zero * step : zero);
      matrix.zeros.push_back(bias ? f32_from_f16(f16_from_f32(stored)) : stored);
      for (const double value : values) {
        matrix.codes.push_back(
            static_cast<uint8_t>(std::clamp(std::round(value / step + zero), 0.0, top)));
      }
    }
  }
  return matrix;
}

PackingSpec int4_groups() {
  PackingSpec spec;
  spec.bits = 4;
  spec.law.slots = 2;
  spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
  spec.scale.index = Scale::Index::kRowGroup;
  spec.scale.group = 32;
  spec.scale.dtype = DType::kF16;
  spec.zero.kind = Zero::Kind::kFloatBias;
  spec.zero.dtype = DType::kF16;
  return spec;
}

// GPTQ's places: words of eight rows' codes of Wᵀ, zero points packed along N and stored less one.
PackingSpec int4_columns() {
  PackingSpec spec = int4_groups();
  spec.container = DType::kI32;
  spec.orient = packing::Orientation::kKN;
  spec.law.word_bits = 32;
  spec.law.slots = 8;
  spec.scale.layout = Scale::Layout::kTransposed;
  spec.zero.kind = Zero::Kind::kInteger;
  spec.zero.dtype = DType::kI32;
  spec.zero.bits = 4;
  spec.zero.stored_minus_one = true;
  return spec;
}

class GeneralSearchTest : public ::testing::Test {
 protected:
  // A decoder's three linears and a norm over its channels; `spec` packs them under neutral names.
  void pack(const PackingSpec& spec) {
    channels_ = testing::strengths(random_, 128);
    const auto neurons = testing::strengths(random_, 256);
    const auto heads = testing::strengths(random_, 64);
    add("m0", affine(random_, heads, channels_, spec), spec);
    add("m1", affine(random_, neurons, channels_, spec), spec);
    add("m2", affine(random_, channels_, neurons, spec), spec);
  }

  void add(const std::string& name, const QuantMatrix& matrix, const PackingSpec& spec) {
    auto stored = packing::encode(spec, matrix);
    ASSERT_TRUE(stored.ok()) << stored.error().to_string();
    const std::map<std::string, std::string> suffix{{"codes", "a"}, {"scale", "b"}, {"zero", "c"}};
    for (auto& [role, tensor] : *stored) {
      store_.add(name + "." + suffix.at(role), tensor.dtype, tensor.shape, std::move(tensor.bytes));
    }
  }

  std::vector<FamilySearch> search() {
    context_.sizes.hidden = 128;
    context_.sizes.intermediate = 256;
    context_.sizes.heads = 2;
    context_.sizes.kv_heads = 2;
    context_.sizes.head_dim = 32;
    context_.plain.push_back({std::nullopt, channels_});
    modules_ = group_tensors(store_.views(), store_.summaries());
    const std::vector<StoredClass> classes = classify(modules_);
    EXPECT_EQ(classes.size(), 1U);
    return general_search(classes.front(), context_);
  }

  std::mt19937_64 random_{20261201};
  std::vector<double> channels_;
  testing::TensorStore store_;
  std::vector<StoredModule> modules_;
  SearchContext context_;
};

TEST_F(GeneralSearchTest, FindsGroupsWithABias) {
  pack(int4_groups());
  const auto families = search();
  ASSERT_EQ(families.size(), 1U);
  ASSERT_FALSE(families.front().readings.empty()) << families.front().refusal;
  EXPECT_EQ(difference(int4_groups(), families.front().readings.front().hypothesis.spec), "");
  EXPECT_TRUE(families.front().doubts.empty());
}

TEST_F(GeneralSearchTest, FindsColumnsWithPackedZeroPoints) {
  pack(int4_columns());
  const auto families = search();
  ASSERT_EQ(families.size(), 1U);
  ASSERT_FALSE(families.front().readings.empty()) << families.front().refusal;
  EXPECT_EQ(difference(int4_columns(), families.front().readings.front().hypothesis.spec), "");
}

TEST_F(GeneralSearchTest, RefusesNoise) {
  const PackingSpec spec = int4_groups();
  for (const auto& [name, rows, cols] :
       {std::tuple{"m0", 64, 128}, {"m1", 256, 128}, {"m2", 128, 256}}) {
    std::vector<std::byte> bytes(static_cast<size_t>(rows * cols / 2));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    store_.add(std::string(name) + ".a", DType::kU8, {rows, cols / 2}, std::move(bytes));
    store_.add_floats(std::string(name) + ".b", {rows},
                      std::vector<float>(static_cast<size_t>(rows), 0.01F));
  }
  for (const FamilySearch& family : search()) {
    EXPECT_TRUE(family.readings.empty());
    EXPECT_NE(family.refusal.find("even as noise"), std::string::npos) << family.refusal;
  }
}

TEST(LevelShape, TheRightNumberSystemFits) {
  CodeHistogram twos{};
  for (int level = -7; level <= 7; ++level) {
    twos[static_cast<size_t>(level & 15)] =
        static_cast<uint64_t>(10000 * std::exp(-level * level / 18.0));
  }
  const auto nats = [&](CodeTable::Kind kind, int64_t offset) {
    return level_shape_nats(twos, CodeTable::rule(kind, offset).resolve(4));
  };
  EXPECT_GT(nats(CodeTable::Kind::kTwosComplement, 0), -1);
  EXPECT_LT(nats(CodeTable::Kind::kOffset, 8), -1000);
  EXPECT_LT(nats(CodeTable::Kind::kSignMagnitude, 0), -1000);
}

TEST(GroupEvidence, ARightPartitionReachesTheEnds) {
  std::mt19937_64 random(7);
  const auto ones = [](size_t count) { return std::vector<double>(count, 1.0); };
  const PackingSpec spec = int4_groups();
  QuantMatrix matrix = affine(random, ones(64), ones(256), spec);
  const GroupEvidence right = weigh_groups(matrix);
  EXPECT_GT(right.partition, 100);
  EXPECT_GT(right.centre, -1);
  QuantMatrix shifted = matrix;  // a zero point one step off
  for (size_t i = 0; i < shifted.zeros.size(); ++i) shifted.zeros[i] -= shifted.scales[i];
  EXPECT_LT(weigh_groups(shifted).centre, -100);
  // Codes half a group later: their groups are no longer those of the scales.
  std::rotate(matrix.codes.begin(), matrix.codes.begin() + 16, matrix.codes.end());
  EXPECT_LT(weigh_groups(matrix).partition, right.partition / 2);
}

}  // namespace
}  // namespace trilith::inspect
