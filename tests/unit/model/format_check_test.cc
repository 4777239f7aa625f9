// check_matrix: holes, absurd and vanishing weights, whatever carries the scale.
#include "model/format_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "packing/catalogue.h"
#include "support/random_matrix.h"

namespace trilith::model {
namespace {

using packing::PackingSpec;
using packing::QuantMatrix;
using packing::Scale;
using packing::Zero;

std::vector<PackingSpec> many_specs() {
  std::vector<PackingSpec> specs;
  for (const packing::CatalogueRow& row : packing::catalogue()) {
    // An ordinary float holds what it holds; it has no scale of its own to be wrong.
    const bool scaled = row.spec.scale.place != Scale::Place::kImplicit;
    if (scaled && support::has_random_matrices(row.spec)) specs.push_back(row.spec);
  }
  PackingSpec spec = packing::find_format("k4-low-offset2")->spec;
  spec.scale.dtype = DType::kF32;
  spec.scale.index = Scale::Index::kRankOne;
  specs.push_back(spec);
  spec.scale = packing::find_format("k4-low-offset2")->spec.scale;
  spec.scale.op = Scale::Op::kMultiplyPowerOfTwo;
  spec.scale.dtype = DType::kI8;
  specs.push_back(spec);
  spec.scale = Scale();
  spec.scale.index = Scale::Index::kRowGroup;
  spec.scale.group = 32;
  spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kUnsigned);
  for (const auto kind : {Zero::Kind::kInteger, Zero::Kind::kFloat, Zero::Kind::kFloatBias,
                          Zero::Kind::kFloatShift, Zero::Kind::kConstant}) {
    spec.zero = Zero();
    spec.zero.kind = kind;
    if (kind == Zero::Kind::kInteger) spec.zero.dtype = DType::kU8;
    if (kind == Zero::Kind::kConstant) spec.zero.value = 1;
    specs.push_back(spec);
  }
  return specs;
}

Status check(const QuantMatrix& matrix) { return check_matrix(matrix, "codes", "scale"); }

TEST(FormatCheck, PlausibleMatricesPass) {
  for (const PackingSpec& spec : many_specs()) {
    SCOPED_TRACE(packing::describe(spec));
    support::Random random(7);
    for (const double rms : {1e-3, 0.02, 2.0}) {
      const Status status = check(support::random_matrix(spec, 256, 256, rms, random));
      EXPECT_TRUE(status.ok()) << status.error().to_string();
    }
  }
}

TEST(FormatCheck, OneCodeEverywhereIsAHole) {
  for (const PackingSpec& spec : many_specs()) {
    SCOPED_TRACE(packing::describe(spec));
    support::Random random(7);
    QuantMatrix matrix = support::random_matrix(spec, 256, 256, 0.02, random);
    std::ranges::fill(matrix.codes, matrix.codes[0]);
    const Status status = check(matrix);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kDamaged);
    EXPECT_EQ(status.error().tensor, "codes");
    matrix.codes.back() ^= 1;  // one other weight
    EXPECT_TRUE(check(matrix).ok());
  }
}

TEST(FormatCheck, WeightsBeyondFloat16AreRefused) {
  for (const PackingSpec& spec : many_specs()) {
    SCOPED_TRACE(packing::describe(spec));
    support::Random random(7);
    QuantMatrix matrix = support::random_matrix(spec, 256, 256, 0.02, random);
    if (matrix.zeros.size() == matrix.scales.size() &&
        (spec.zero.kind == Zero::Kind::kFloatBias || spec.zero.kind == Zero::Kind::kFloatShift)) {
      matrix.zeros.back() = -3e6F;
    }
    matrix.scales.back() = spec.scale.op == Scale::Op::kDivide               ? 1e-6F
                           : spec.scale.op == Scale::Op::kMultiplyPowerOfTwo ? 30.0F
                                                                             : 3e6F;
    const Status status = check(matrix);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().tensor, "scale");
    EXPECT_NE(status.error().message.find("large"), std::string::npos);
  }
}

TEST(FormatCheck, ZeroPointsAndColumnFactorsCountToo) {
  for (const PackingSpec& spec : many_specs()) {
    SCOPED_TRACE(packing::describe(spec));
    support::Random random(7);
    QuantMatrix matrix = support::random_matrix(spec, 256, 256, 0.02, random);
    if (!matrix.zeros.empty()) matrix.zeros[3] = 1e12F;
    if (!matrix.column_scales.empty()) matrix.column_scales[3] = 1e12F;
    if (matrix.zeros.empty() && matrix.column_scales.empty()) continue;
    const Status status = check(matrix);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("large"), std::string::npos);
  }
}

TEST(FormatCheck, WeightsThatVanishAreRefused) {
  for (const PackingSpec& spec : many_specs()) {
    SCOPED_TRACE(packing::describe(spec));
    support::Random random(7);
    QuantMatrix matrix = support::random_matrix(spec, 256, 256, 0.02, random);
    const float tiny = spec.scale.op == Scale::Op::kDivide               ? 1e20F
                       : spec.scale.op == Scale::Op::kMultiplyPowerOfTwo ? -60.0F
                                                                         : 0.0F;
    std::ranges::fill(matrix.scales, tiny);
    if (spec.zero.kind == Zero::Kind::kFloatBias || spec.zero.kind == Zero::Kind::kFloatShift) {
      std::ranges::fill(matrix.zeros, 0.0F);
    }
    const Status status = check(matrix);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("vanish"), std::string::npos);
  }
}

}  // namespace
}  // namespace trilith::model
