#include "inspect/code_finder.h"

#include <gtest/gtest.h>

#include "synthetic.h"

namespace trilith::inspect {
namespace {

std::vector<std::byte> noise(size_t count) {
  std::mt19937 random(12);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(CodeFinder, CodesAndTheirNeighbours) {
  testing::TensorStore store;
  store.add("a.codes", DType::kU8, {8, 16}, noise(128));
  store.add_floats("a.scale", {8}, std::vector<float>(8, 0.5F));
  store.add_floats("norm.weight", {16}, std::vector<float>(16, 1.0F));
  const auto modules = group_tensors(store.views(), store.summaries());
  const FoundCodes found = find_codes(modules);
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].name, "a");
  EXPECT_EQ(found.groups[0].codes.size(), 1U);
  EXPECT_EQ(found.groups[0].floats.size(), 1U);
  EXPECT_FALSE(found.scales_by_size);
}

// Norms of ones, zero biases, causal masks and position ids are three-valued at best by accident.
TEST(CodeFinder, MasksNormsBiasesAndPositionsAreNotCodes) {
  testing::TensorStore store;
  store.add_floats("layers.0.norm.weight", {64}, std::vector<float>(64, 1.0F));
  store.add_floats("layers.0.proj.bias", {64}, std::vector<float>(64, 0.0F));
  store.add_floats("layers.0.dense.weight", {2, 64}, std::vector<float>(128, 0.0F));
  std::vector<std::byte> mask(64 * 64);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<std::byte>(i % 64 <= i / 64);
  store.add("layers.0.attn.bias", DType::kU8, {1, 1, 64, 64}, mask);
  std::vector<std::byte> positions(64 * 8);
  for (int64_t i = 0; i < 64; ++i) std::memcpy(&positions[static_cast<size_t>(i) * 8], &i, 8);
  store.add("embeddings.ids", DType::kI64, {1, 64}, positions);
  store.add("flags", DType::kBool, {128}, std::vector<std::byte>(128));
  const auto modules = group_tensors(store.views(), store.summaries());
  EXPECT_TRUE(find_codes(modules).groups.empty());
}

TEST(CodeFinder, FloatsThatTakeOneMagnitudeARowAreCodes) {
  testing::TensorStore store;
  std::vector<float> values;
  for (int row = 0; row < 4; ++row) {
    const float scale = 0.25F * static_cast<float>(row + 1);
    for (int col = 0; col < 16; ++col) values.push_back(static_cast<float>(col % 3 - 1) * scale);
  }
  store.add_floats("a.weight", {4, 16}, values);
  values[5] += 0.01F;
  store.add_floats("b.weight", {4, 16}, values);
  const auto modules = group_tensors(store.views(), store.summaries());
  const FoundCodes found = find_codes(modules);
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].name, "a");
}

TEST(CodeFinder, UnequalIntegerTensorsAreAProblem) {
  testing::TensorStore store;
  store.add("a.x", DType::kU8, {8, 16}, noise(128));
  store.add("a.y", DType::kU8, {8, 8}, noise(64));
  const auto modules = group_tensors(store.views(), store.summaries());
  const FoundCodes found = find_codes(modules);
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_FALSE(found.groups[0].problem.empty());
}

}  // namespace
}  // namespace trilith::inspect
