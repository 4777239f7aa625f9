#include "reference/ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tiny_weights.h"

namespace trilith::reference {
namespace {

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  Matrix x(1, 4);
  x.values = {1, 2, -2, 4};  // mean square 6.25
  const std::vector<float> gain{1, 2, 1, 0.5F};
  const Matrix y = rms_norm(x, gain, 0);
  EXPECT_DOUBLE_EQ(y.values[0], 0.4);
  EXPECT_DOUBLE_EQ(y.values[1], 1.6);
  EXPECT_DOUBLE_EQ(y.values[2], -0.8);
  EXPECT_DOUBLE_EQ(y.values[3], 0.8);
  EXPECT_DOUBLE_EQ(rms_norm(x, gain, 18.75).values[0], 0.2);  // eps is inside the root
}

TEST(HeadNorm, EachHeadForItself) {
  Matrix x(2, 4);
  x.values = {3, 4, 0, 2, 1, 1, 6, 8};
  const std::vector<float> gain{1, 2};
  const Matrix y = head_norm(x, gain, 0);
  EXPECT_DOUBLE_EQ(y.row(0)[0], 3 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(y.row(0)[3], 2 / std::sqrt(2.0) * 2);
  EXPECT_DOUBLE_EQ(y.row(1)[1], 2);
  EXPECT_DOUBLE_EQ(y.row(1)[3], 8 / std::sqrt(50.0) * 2);
}

TEST(Rope, TurnsHalvesByPositionTimesFrequency) {
  model::RopeSpec spec;
  spec.theta = 100;
  spec.head_dim = 4;  // frequencies 1 and 0.1
  Matrix x(2, 8);
  x.values = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<int64_t> positions{0, 3};
  const Matrix y = rope(x, 2, spec, positions);
  for (int64_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(y.row(0)[i], x.row(0)[i]);
  EXPECT_DOUBLE_EQ(y.row(1)[0], 1 * std::cos(3.0) - 3 * std::sin(3.0));
  EXPECT_DOUBLE_EQ(y.row(1)[2], 3 * std::cos(3.0) + 1 * std::sin(3.0));
  EXPECT_NEAR(y.row(1)[5], 6 * std::cos(0.3) - 8 * std::sin(0.3), 1e-14);
  EXPECT_NEAR(y.row(1)[7], 8 * std::cos(0.3) + 6 * std::sin(0.3), 1e-14);
}

model::ModelSpec attention_spec() {
  model::ModelSpec spec;
  spec.num_attention_heads = 4;
  spec.num_key_value_heads = 2;
  spec.head_dim = 1;
  return spec;
}

TEST(Attention, IsCausalAndGroupsQueryHeads) {
  ThreadPool pool(1);
  Matrix q(3, 4);  // zeros: every row averages what it sees
  Matrix k(3, 2);
  Matrix v(3, 2);
  v.values = {1, 10, 3, 30, 8, 80};
  const Matrix y = attention(q, k, v, attention_spec(), 0, pool);
  const std::vector<double> expected{1, 1, 10, 10, 2, 2, 20, 20, 4, 4, 40, 40};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(y.values[i], expected[i], 1e-13);
}

TEST(Attention, AWindowCountsTheTokenItself) {
  ThreadPool pool(1);
  Matrix q(3, 4);
  Matrix k(3, 2);
  Matrix v(3, 2);
  v.values = {1, 10, 3, 30, 8, 80};
  const auto last = [&](int64_t window) {
    return attention(q, k, v, attention_spec(), window, pool).row(2)[0];
  };
  EXPECT_NEAR(last(1), 8, 1e-13);
  EXPECT_NEAR(last(2), 5.5, 1e-13);
  EXPECT_NEAR(last(3), 4, 1e-13);
  EXPECT_NEAR(last(9), 4, 1e-13);
}

TEST(Attention, ScalesScoresByTheRootOfTheHead) {
  ThreadPool pool(1);
  model::ModelSpec spec = attention_spec();
  spec.num_attention_heads = 1;
  spec.num_key_value_heads = 1;
  spec.head_dim = 4;
  Matrix q(2, 4);
  Matrix k(2, 4);
  Matrix v(2, 4);
  q.values = {0, 0, 0, 0, 2, 0, 0, 0};
  k.values = {3, 0, 0, 0, 1, 0, 0, 0};  // scores 3 and 1 after division by 2
  v.values = {1, 0, 0, 0, 0, 1, 0, 0};
  const Matrix y = attention(q, k, v, spec, 0, pool);
  const double first = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(y.row(1)[0], first, 1e-15);
  EXPECT_NEAR(y.row(1)[1], 1 - first, 1e-15);
  for (double& score : q.values) score *= 1000;  // no overflow in the softmax
  EXPECT_NEAR(attention(q, k, v, spec, 0, pool).row(1)[0], 1, 1e-15);
}

TEST(GatedActivation, KnownValues) {
  Matrix gate(1, 3);
  gate.values = {-1, 0.5, 2};
  Matrix up(1, 3);
  up.values = {1, 1, 10};
  using model::MlpActivation;
  const auto value = [&](MlpActivation activation, size_t i) {
    return gated_activation(gate, up, activation).values[i];
  };
  EXPECT_NEAR(value(MlpActivation::kSilu, 0), -0.26894142136999512, 1e-15);
  EXPECT_NEAR(value(MlpActivation::kSilu, 2), 17.615941559557649, 1e-14);
  EXPECT_EQ(value(MlpActivation::kRelu2, 0), 0);
  EXPECT_EQ(value(MlpActivation::kRelu2, 2), 40);
  EXPECT_EQ(value(MlpActivation::kRelu, 2), 20);
  // torch 2.13 in float64: gelu(0.5), exact and tanh
  EXPECT_NEAR(value(MlpActivation::kGeluErf, 1), 0.34573123063700656, 1e-15);
  EXPECT_NEAR(value(MlpActivation::kGeluTanh, 1), 0.34571400982514394, 1e-15);
}

}  // namespace
}  // namespace trilith::reference
