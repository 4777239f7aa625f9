#include "transform/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace trilith::transform {
namespace {

using testing::HasSubstr;

TEST(Target, NamesAreUniqueAndEveryRowThatCanBeWrittenIsThere) {
  std::set<std::string> names;
  for (const Target& target : targets()) EXPECT_TRUE(names.insert(target.name).second);
  for (const auto& row : packing::catalogue()) {
    const bool product =
        row.spec.scale.index == packing::Scale::Index::kSubBlock || row.spec.scale.nested_group > 0;
    EXPECT_EQ(names.contains(std::string(row.name)), !product) << row.name;
  }
}

TEST(Target, UnknownNamesSayWhy) {
  EXPECT_EQ(find_target("gptq").error().kind, ErrorKind::kUsage);
  EXPECT_THAT(find_target("q4_k").error().message, HasSubstr("products of two"));
  EXPECT_THAT(find_target("nonsense").error().hint, HasSubstr("--to list"));
}

TEST(Target, GroupsAreThoseOfTheSourceAsFarAsTheLibraryTakesThem) {
  const Target& gptq = **find_target("gptq-4bit");
  EXPECT_EQ(grouped_spec(gptq, {64, 512}, 0)->scale.group, 64);
  EXPECT_EQ(grouped_spec(gptq, {0, 512}, 0)->scale.group, -1);
  EXPECT_EQ(grouped_spec(gptq, {0, 512}, 32)->scale.group, 32);
  const Target& mlx = **find_target("mlx-4bit");
  EXPECT_EQ(grouped_spec(mlx, {256, 512}, 0)->scale.group, 128);
  EXPECT_EQ(grouped_spec(mlx, {0, 96}, 0)->scale.group, 32);
  EXPECT_EQ(grouped_spec(mlx, {16, 512}, 0).error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(grouped_spec(mlx, {64, 512}, 48).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(grouped_spec(**find_target("int8-row"), {64, 512}, 64).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(grouped_spec(**find_target("ct-4bit"), {0, 512}, 0)->scale.index,
            packing::Scale::Index::kRow);
}

}  // namespace
}  // namespace trilith::transform
