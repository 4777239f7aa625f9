#include "model/rope_rows.h"

#include <gtest/gtest.h>

#include "packing/catalogue.h"
#include "support/random_matrix.h"

namespace trilith::model {
namespace {

model::ModelSpec two_heads_of_four() {
  model::ModelSpec spec;
  spec.num_attention_heads = 2;
  spec.num_key_value_heads = 1;
  spec.head_dim = 4;
  return spec;
}

TEST(RopeRows, PairsLieSideBySideInGguf) {
  const auto rows = rope_rows(two_heads_of_four(), model::Role::kQProj, RowOrder::kToGguf);
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
  model::ModelSpec six = two_heads_of_four();
  six.head_dim = 6;
  EXPECT_EQ(rope_rows(six, model::Role::kKProj, RowOrder::kToGguf),
            (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(rope_rows(six, model::Role::kKProj, RowOrder::kToTransformers),
            (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(RopeRows, CodesScalesAndZerosMoveTogetherAndBack) {
  model::ModelSpec spec = two_heads_of_four();
  spec.head_dim = 8;
  for (const char* name : {"k4-low-0pm", "q4_1", "gptq-4bit", "int8-tensor", "ct-4bit-asym"}) {
    support::Random random(3, name);
    const packing::QuantMatrix matrix =
        support::random_matrix(packing::find_format(name)->spec, 16, 256, 0.05, random);
    const auto there = rope_rows(spec, model::Role::kQProj, RowOrder::kToGguf);
    const auto back = rope_rows(spec, model::Role::kQProj, RowOrder::kToTransformers);
    const auto moved = with_rows(matrix, there);
    ASSERT_TRUE(moved.ok()) << name;
    EXPECT_EQ(moved->dense(), with_rows(matrix.dense(), there)) << name;
    EXPECT_NE(moved->dense(), matrix.dense()) << name;
    EXPECT_EQ(with_rows(*moved, back)->dense(), matrix.dense()) << name;
  }
}

TEST(RopeRows, ScalesAcrossRowsAreRefused) {
  support::Random random(3);
  const packing::QuantMatrix matrix =
      support::random_matrix(packing::find_format("hqq-4bit-axis0")->spec, 8, 256, 0.05, random);
  const auto rows = rope_rows(two_heads_of_four(), model::Role::kQProj, RowOrder::kToGguf);
  EXPECT_EQ(with_rows(matrix, rows).error().kind, ErrorKind::kUnsupported);
}

TEST(RopeRows, OnlyQAndKOfLlama) {
  EXPECT_TRUE(has_rope_rows("llama", model::Role::kKProj));
  EXPECT_FALSE(has_rope_rows("llama", model::Role::kVProj));
  EXPECT_FALSE(has_rope_rows("bitnet", model::Role::kQProj));
  EXPECT_FALSE(has_rope_rows("", model::Role::kQProj));
}

}  // namespace
}  // namespace trilith::model
