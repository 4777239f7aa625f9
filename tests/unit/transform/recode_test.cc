// Between all pairs of formats on small random matrices: what is recoded has every weight of the
// source after encode and decode, and what is not says what would be lost.
#include "transform/recode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "packing/catalogue.h"
#include "packing/codec.h"
#include "support/random_matrix.h"
#include "transform/target.h"

namespace trilith::transform {
namespace {

using packing::QuantMatrix;
using testing::HasSubstr;

constexpr int64_t kRows = 16;
constexpr int64_t kCols = 256;

std::vector<const packing::CatalogueRow*> source_rows() {
  std::vector<const packing::CatalogueRow*> rows;
  for (const auto& row : packing::catalogue()) {
    if (!support::has_random_matrices(row.spec)) continue;
    if (packing::stored_layout(row.spec, kRows, kCols).ok()) rows.push_back(&row);
  }
  return rows;
}

QuantMatrix matrix_of(const packing::CatalogueRow& row) {
  support::Random random(7, std::string(row.name));
  return support::random_matrix(row.spec, kRows, kCols, 0.05, random);
}

QuantMatrix matrix_of(std::string_view name) { return matrix_of(*packing::find_format(name)); }

// Stored and read again.
QuantMatrix again(const packing::PackingSpec& spec, const QuantMatrix& matrix) {
  auto stored = packing::encode(spec, matrix);
  EXPECT_TRUE(stored.ok()) << stored.error().to_string();
  packing::TensorsByRole tensors;
  for (const auto& [role, tensor] : *stored) {
    tensors[role] = TensorView{role, tensor.dtype, tensor.shape, tensor.bytes};
  }
  auto decoded = packing::decode(spec, tensors, matrix.rows, matrix.cols);
  EXPECT_TRUE(decoded.ok()) << decoded.error().to_string();
  return std::move(decoded).value();
}

int64_t differences(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

// Whether `name` takes the matrix in one of its types of scale; the weights must be the same then.
bool takes(const Target& target, const QuantMatrix& matrix) {
  const int64_t group =
      matrix.scale.index == packing::Scale::Index::kRowGroup ? matrix.scale.group : 0;
  auto spec = grouped_spec(target, {std::max<int64_t>(group, 0), matrix.cols}, 0);
  if (!spec.ok()) return false;
  for (const packing::PackingSpec& typed : with_scale_types(target, *spec)) {
    const Recoded recoded = recode(matrix, typed);
    if (!recoded.losses.empty()) {
      for (const Loss& loss : recoded.losses) {
        EXPECT_FALSE(loss.what.empty());
        EXPECT_FALSE(loss.first.empty()) << loss.what;
        EXPECT_TRUE(loss.count > 0 || loss.what == "the shape") << loss.what;
      }
      continue;
    }
    EXPECT_EQ(differences(again(typed, recoded.matrix).dense(), matrix.dense()), 0) << target.name;
    return true;
  }
  return false;
}

TEST(Recode, EveryPairKeepsTheWeightsOrNamesTheLoss) {
  int64_t kept = 0;
  int64_t refused = 0;
  for (const packing::CatalogueRow* from : source_rows()) {
    const QuantMatrix matrix = matrix_of(*from);
    for (const Target& to : targets()) {
      if (to.row == nullptr || to.ggml != nullptr) continue;  // the same spec in a file
      SCOPED_TRACE(std::string(from->name) + " to " + to.name);
      (takes(to, matrix) ? kept : refused) += 1;
    }
  }
  // As counted when this was written, with room for rows that come.
  EXPECT_GT(kept, 1000) << refused << " refused";
  EXPECT_GT(refused, 1000) << kept << " kept";
  std::cout << kept << " of " << kept + refused << " pairs keep every weight\n";
}

// A format takes what it wrote itself.
TEST(Recode, EveryFormatTakesItsOwn) {
  for (const packing::CatalogueRow* row : source_rows()) {
    const QuantMatrix matrix = matrix_of(*row);
    const Recoded recoded = recode(matrix, row->spec);
    ASSERT_TRUE(recoded.losses.empty())
        << row->name << ": " << recoded.losses.front().what << ", " << recoded.losses.front().first;
    EXPECT_EQ(differences(again(row->spec, recoded.matrix).dense(), matrix.dense()), 0)
        << row->name;
  }
}

TEST(Recode, TernaryGoesThroughEveryWiderFormatAndBack) {
  const QuantMatrix ternary = matrix_of("k4-low-0pm");
  for (const char* name : {"k4-high-m0p", "int8-row",      "float-ternary", "tq2_0",
                           "tq1_0",       "q2_0",          "q4_0",          "q8_0",
                           "iq2_bn",      "base3",         "planes-pm",     "gptq-2bit",
                           "gptq-3bit",   "gptq-4bit",     "gptq-8bit",     "gptq-planar-7bit",
                           "awq-gemm",    "awq-gemv",      "ct-2bit",       "ct-4bit",
                           "hqq-2bit",    "quanto-int2",   "quanto-int4",   "mlx-2bit",
                           "mlx-8bit",    "torchao-uint2", "torchao-uint6", "bnb-nf4",
                           "bnb-int8",    "gemma-int4",    "onnx-4bit",     "fp8-row"}) {
    SCOPED_TRACE(name);
    const Target& target = **find_target(name);
    ASSERT_TRUE(takes(target, ternary));
    const auto spec = grouped_spec(target, {0, kCols}, 0);
    for (const auto& typed : with_scale_types(target, *spec)) {
      const Recoded there = recode(ternary, typed);
      if (!there.losses.empty()) continue;
      const Recoded back =
          recode(again(typed, there.matrix), packing::find_format("k4-low-0pm")->spec);
      ASSERT_TRUE(back.losses.empty()) << back.losses.front().what;
      EXPECT_EQ(back.matrix.codes, ternary.codes);
      EXPECT_EQ(back.matrix.scales, ternary.scales);
      break;
    }
  }
}

TEST(Recode, CountsLevelsThatTheTableLacks) {
  const Recoded recoded = recode(matrix_of("int8-row"), packing::find_format("k4-low-0pm")->spec);
  ASSERT_EQ(recoded.losses.size(), 1U);
  EXPECT_THAT(recoded.losses[0].what, HasSubstr("levels"));
  EXPECT_EQ(recoded.losses[0].count, kRows);
}

TEST(Recode, CountsScalesThatWouldBeMerged) {
  QuantMatrix matrix = matrix_of("k4-low-0pm");
  for (size_t row = 0; row < matrix.scales.size(); ++row) {
    matrix.scales[row] = 1 + static_cast<float>(row);
  }
  const Recoded recoded = recode(matrix, packing::find_format("hf-bitnet")->spec);
  ASSERT_EQ(recoded.losses.size(), 1U);
  EXPECT_THAT(recoded.losses[0].what, HasSubstr("share one scale"));
  EXPECT_EQ(recoded.losses[0].count, kRows - 1);
  EXPECT_EQ(recoded.losses[0].first, "row 1, column 0");
}

TEST(Recode, CountsScalesThatTheTypeDoesNotHold) {
  QuantMatrix matrix = matrix_of("k4-low-0pm");
  matrix.scales[3] = 0.1F;  // no float16
  const Recoded recoded = recode(matrix, packing::find_format("gptq-2bit")->spec);
  ASSERT_EQ(recoded.losses.size(), 1U);
  EXPECT_THAT(recoded.losses[0].what, HasSubstr("F16"));
  EXPECT_EQ(recoded.losses[0].count, kCols / 64);  // groups of row 3
  EXPECT_THAT(recoded.losses[0].first, HasSubstr("row 3"));
}

TEST(Recode, ShapesThatTilesDoNotDivideAreNamed) {
  support::Random random(1);
  const QuantMatrix matrix =
      support::random_matrix(packing::find_format("k4-low-0pm")->spec, 8, 100, 0.05, random);
  const Recoded recoded = recode(matrix, packing::find_format("tl1")->spec);
  ASSERT_EQ(recoded.losses.size(), 1U);
  EXPECT_EQ(recoded.losses[0].what, "the shape");
  EXPECT_THAT(recoded.losses[0].first, HasSubstr("multiples of [256, 128]"));
}

// Zeros have no scale of their own to keep.
TEST(Recode, RowsOfZerosTakeAnyScale) {
  QuantMatrix matrix = matrix_of("k4-low-0pm");
  std::ranges::fill(matrix.scales, matrix.scales[0]);
  matrix.scales[5] *= 2;
  const packing::PackingSpec one_scale = packing::find_format("int8-tensor")->spec;
  EXPECT_FALSE(recode(matrix, one_scale).losses.empty());
  std::fill_n(matrix.codes.begin() + 5 * kCols, kCols, uint8_t{0});
  const Recoded recoded = recode(matrix, one_scale);
  ASSERT_TRUE(recoded.losses.empty()) << recoded.losses.front().what;
  EXPECT_EQ(differences(recoded.matrix.dense(), matrix.dense()), 0);
}

// A scale that is a power of two by its type has no sign.
TEST(Recode, NegativeScalesTurnTheLevels) {
  QuantMatrix matrix = matrix_of("k4-low-0pm");
  std::ranges::fill(matrix.scales, 0.5F);
  matrix.scales[2] = -0.5F;
  const Recoded recoded = recode(matrix, packing::find_format("torchao-mxfp8")->spec);
  ASSERT_TRUE(recoded.losses.empty()) << recoded.losses.front().what;
  EXPECT_THAT(recoded.matrix.scales, testing::Each(0.5F));
  EXPECT_EQ(differences(recoded.matrix.dense(), matrix.dense()), 0);
}

}  // namespace
}  // namespace trilith::transform
