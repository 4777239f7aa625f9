// The golden vectors: one small matrix a named format, as its writer made it, with the writer's own
// dense values (tools/make_golden_packing.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/mapped_file.h"
#include "checkpoint/safetensors.h"
#include "matrices.h"
#include "packing/catalogue.h"

namespace trilith::packing {
namespace {

using testing::hex;

std::string golden_path(std::string_view name) {
  return std::string(TRILITH_SOURCE_DIR "/tests/golden/packing/") + std::string(name) +
         ".safetensors";
}

// Exact where a weight is one product that the writer rounds once. Otherwise the writer computes in
// float32 with up to three roundings, of 2^-24 each, of numbers at most four times the largest
// weight (a product and a minimum that nearly cancel).
void expect_same(const PackingSpec& spec, const std::vector<float>& found,
                 const std::vector<float>& wanted) {
  const bool one_product =
      spec.scale.factor == 1.0 && spec.scale.index != Scale::Index::kRankOne &&
      spec.scale.index != Scale::Index::kSubBlock && spec.scale.global == Scale::Global::kNone &&
      spec.zero.kind != Zero::Kind::kFloat && spec.zero.kind != Zero::Kind::kFloatBias &&
      spec.zero.kind != Zero::Kind::kFloatShift;
  if (one_product) {
    EXPECT_EQ(found, wanted);
    return;
  }
  ASSERT_EQ(found.size(), wanted.size());
  float largest = 0;
  for (const float weight : wanted) largest = std::max(largest, std::fabs(weight));
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_LE(std::fabs(found[i] - wanted[i]), 3 * 0x1p-24F * 4 * largest) << i;
  }
}

class Golden : public ::testing::TestWithParam<const CatalogueRow*> {};

TEST_P(Golden, DecodesToTheWritersValuesAndEncodesToItsBytes) {
  const CatalogueRow& row = *GetParam();
  auto file = MappedFile::open(golden_path(row.name));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const auto content = checkpoint::parse_safetensors(file->bytes(), file->path());
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  for (const char* const key : {"format", "writer", "writer_version"}) {
    const std::string* const value = content->metadata[key].as_string();
    ASSERT_NE(value, nullptr) << key;
    EXPECT_FALSE(value->empty()) << key;
  }
  EXPECT_EQ(*content->metadata["format"].as_string(), row.name);

  TensorsByRole tensors;
  TensorView dense;
  for (const TensorView& tensor : content->tensors) {
    if (tensor.name == "dense") {
      dense = tensor;
    } else {
      tensors[tensor.name] = tensor;
    }
  }
  ASSERT_EQ(dense.shape.size(), 2U);
  const auto matrix = decode(row.spec, tensors, dense.shape[0], dense.shape[1]);
  ASSERT_TRUE(matrix.ok()) << matrix.error().to_string();
  expect_same(row.spec, matrix->dense(), to_floats(dense));
  EXPECT_EQ(matrix->unused_codes().count, 0);

  // From codes and scales alone.
  QuantMatrix bare;
  bare.rows = matrix->rows;
  bare.cols = matrix->cols;
  bare.bits = matrix->bits;
  bare.codes = matrix->codes;
  bare.scale = matrix->scale;
  bare.scales = matrix->scales;
  bare.column_scales = matrix->column_scales;
  bare.global_scale = matrix->global_scale;
  bare.zero = matrix->zero;
  bare.zeros = matrix->zeros;
  const bool levels_are_stored = row.spec.symbol == Symbol::kFloatContainer ||
                                 row.spec.code_table.kind == CodeTable::Kind::kTensor;
  if (levels_are_stored) bare.levels = matrix->levels;
  const auto stored = encode(row.spec, bare);
  if (row.spec.scale.index == Scale::Index::kSubBlock || row.spec.scale.nested_group > 0) {
    ASSERT_FALSE(stored.ok());  // the matrix has lost the two numbers behind a scale
    EXPECT_EQ(stored.error().kind, ErrorKind::kUnsupported);
    return;
  }
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  ASSERT_EQ(stored->size(), tensors.size());
  for (const auto& [role, tensor] : *stored) {
    EXPECT_EQ(tensor.dtype, tensors.at(role).dtype) << role;
    EXPECT_EQ(hex(tensor.bytes), hex(tensors.at(role).bytes)) << role;
  }
}

// N and K from the codes tensor, where nothing pads them.
TEST_P(Golden, ShapeFromTheCodes) {
  const CatalogueRow& row = *GetParam();
  const auto stored = stored_layout(row.spec, 512, 2560);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  const StoredTensor& codes = stored->at("codes");
  const auto shape = logical_shape(row.spec, TensorView{"w", codes.dtype, codes.shape, {}});
  if (!row.spec.law.tensor_fields.empty() || row.spec.law.axis == Axis::kFlat ||
      row.spec.law.unit == UnitScope::kTile) {  // a flat buffer does not tell its rows
    EXPECT_FALSE(shape.ok());
    return;
  }
  ASSERT_TRUE(shape.ok()) << shape.error().to_string();
  EXPECT_EQ(*shape, (std::pair<int64_t, int64_t>{512, 2560}));
}

std::vector<const CatalogueRow*> all_rows() {
  std::vector<const CatalogueRow*> rows;
  for (const CatalogueRow& row : catalogue()) rows.push_back(&row);
  return rows;
}

std::string name_of_row(const ::testing::TestParamInfo<const CatalogueRow*>& row) {
  std::string name(row.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Golden, ::testing::ValuesIn(all_rows()), name_of_row);

TEST(GoldenFolder, HoldsNothingElse) {
  for (const auto& entry :
       std::filesystem::directory_iterator(TRILITH_SOURCE_DIR "/tests/golden/packing")) {
    if (entry.path().extension() != ".safetensors") continue;
    EXPECT_NE(find_format(entry.path().stem().string()), nullptr) << entry.path();
  }
}

}  // namespace
}  // namespace trilith::packing
