// Matrices that real libraries packed, each with a spec written out for it and the dense values of
// the library's formula: axes that no named format has yet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/mapped_file.h"
#include "checkpoint/safetensors.h"
#include "matrices.h"

namespace trilith::packing {
namespace {

using testing::hex;

const std::string kFolder = TRILITH_SOURCE_DIR "/tests/golden/packing/foreign/";

class Foreign : public ::testing::TestWithParam<std::string> {};

TEST_P(Foreign, DecodesToTheLibrarysValues) {
  auto file = MappedFile::open(kFolder + GetParam() + ".safetensors");
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const auto content = checkpoint::parse_safetensors(file->bytes(), file->path());
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  const std::string* const text = content->metadata["spec"].as_string();
  ASSERT_NE(text, nullptr);
  EXPECT_TRUE(content->metadata["writer"].is_string());
  EXPECT_TRUE(content->metadata["writer_version"].is_string());
  const auto json = Json::parse(*text);
  ASSERT_TRUE(json.ok()) << json.error().to_string();
  const auto spec = spec_from_json(*json);
  ASSERT_TRUE(spec.ok()) << spec.error().to_string();
  TensorsByRole tensors;
  TensorView dense;
  for (const TensorView& tensor : content->tensors) {
    (tensor.name == "dense" ? dense : tensors[tensor.name]) = tensor;
  }
  ASSERT_EQ(dense.shape.size(), 2U);
  const auto matrix = decode(*spec, tensors, dense.shape[0], dense.shape[1]);
  ASSERT_TRUE(matrix.ok()) << matrix.error().to_string();

  const std::vector<float> wanted = to_floats(dense);
  const std::vector<float> found = matrix->dense();
  if (spec->scale.factor == 1.0) {
    EXPECT_EQ(found, wanted);
  } else {  // the library rounds the constant and both products to float32
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_LE(std::fabs(found[i] - wanted[i]), 3 * 0x1p-24F * std::fabs(wanted[i])) << i;
    }
  }
  const auto stored = encode(*spec, *matrix);
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  ASSERT_EQ(stored->size(), tensors.size());
  for (const auto& [role, tensor] : *stored) {
    EXPECT_EQ(hex(tensor.bytes), hex(tensors.at(role).bytes)) << role;
  }
}

std::vector<std::string> all_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string name_of_file(const ::testing::TestParamInfo<std::string>& file) {
  std::string name = file.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Libraries, Foreign, ::testing::ValuesIn(all_files()), name_of_file);

}  // namespace
}  // namespace trilith::packing
