#include "reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tiny_weights.h"

namespace trilith::reference {
namespace {

class Recorder final : public model::TraceSink {
 public:
  void record(std::string_view point, int64_t rows, int64_t cols,
              std::span<const float> values) override {
    order.emplace_back(point);
    floats[order.back()] = to_matrix(rows, cols, values);
  }
  void record_integers(std::string_view point, int64_t rows, int64_t cols,
                       std::span<const int32_t> values) override {
    EXPECT_EQ(values.size(), static_cast<size_t>(rows * cols));
    integers[std::string(point)].assign(values.begin(), values.end());
  }

  std::vector<std::string> order;
  std::map<std::string, Matrix> floats;
  std::map<std::string, std::vector<int32_t>> integers;
};

const std::vector<int32_t> kIds{3, 36, 0, 12, 12, 7, 21};

// Both architectures, all modes.
class Architectures : public testing::TestWithParam<std::tuple<bool, Mode>> {
 protected:
  bool bitnet() const { return std::get<0>(GetParam()); }
  Mode mode() const { return std::get<1>(GetParam()); }
};

TEST_P(Architectures, RecordsEveryPointInOrder) {
  const model::Weights weights = tiny_weights(tiny_spec(bitnet()), 1);
  ThreadPool pool(1);
  const auto reference = Reference::create(weights, mode(), pool);
  ASSERT_TRUE(reference.ok());
  Recorder recorder;
  const auto logits = reference->run(kIds, &recorder);
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->rows, 7);
  EXPECT_EQ(logits->cols, 37);
  std::vector<std::string> points;
  for (const std::string& point : recorder.order) {
    if (!point.ends_with(".x_scale")) points.push_back(point);
  }
  EXPECT_EQ(points, model::trace_points(weights.spec));
  EXPECT_EQ(recorder.integers.contains("layers.1.down_proj.acc"), mode() != Mode::kF32);
  EXPECT_FALSE(recorder.integers.contains("logits.x_codes"));  // the head is dense
}

TEST_P(Architectures, StepsOnRecordedInputsGiveRecordedOutputs) {
  const model::Weights weights = tiny_weights(tiny_spec(bitnet()), 2);
  ThreadPool pool(1);
  const auto reference = Reference::create(weights, mode(), pool);
  ASSERT_TRUE(reference.ok());
  Recorder recorder;
  ASSERT_TRUE(reference->run(kIds, &recorder).ok());
  int compared = 0;
  for (const Step& step : reference->steps()) {
    StepInputs inputs;
    inputs.ids = kIds;
    for (const std::string& point : step.inputs) {
      inputs.values.push_back(&recorder.floats.at(point));
    }
    const auto output = reference->evaluate(step, inputs);
    ASSERT_TRUE(output.ok()) << output.error().to_string();
    const Matrix& expected = recorder.floats.at(step.point);
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < expected.values.size(); ++i) {
      difference += std::pow(output->value.values[i] - expected.values[i], 2);
      norm += std::pow(expected.values[i], 2);
    }
    // Inputs and outputs were rounded to float32 (2^-24 each); sums over up to 40 terms with mixed
    // signs amplify that by less than 100. A code at a tie would be off by 1e-3 or more.
    EXPECT_LE(std::sqrt(difference / norm), 100 * 0x1p-24) << step.point;
    ++compared;
    if (output->input) {
      const auto& codes = recorder.integers.at(step.point + ".x_codes");
      EXPECT_EQ(compare_codes(*inputs.values[0], codes, mode()).different, 0);
      const auto replayed = reference->evaluate_codes(step, *output->input);
      ASSERT_TRUE(replayed.ok());
      EXPECT_EQ(replayed->value.values, output->value.values);
    }
  }
  EXPECT_EQ(compared, bitnet() ? 2 * 17 + 3 : 2 * 15 + 3);
}

TEST_P(Architectures, LaterTokensDoNotReachEarlierOnes) {
  const model::Weights weights = tiny_weights(tiny_spec(bitnet()), 3);
  ThreadPool pool(1);
  const auto reference = Reference::create(weights, mode(), pool);
  const auto whole = reference->run(kIds, nullptr);
  const auto part = reference->run(std::span(kIds).first(4), nullptr);
  ASSERT_TRUE(whole.ok() && part.ok());
  EXPECT_TRUE(std::equal(part->values.begin(), part->values.end(), whole->values.begin()));
}

INSTANTIATE_TEST_SUITE_P(All, Architectures,
                         testing::Combine(testing::Bool(),
                                          testing::Values(Mode::kF32, Mode::kA8, Mode::kA16)));

TEST(Reference, ThreadsDoNotMatter) {
  const model::Weights weights = tiny_weights(tiny_spec(true), 4);
  ThreadPool one(1);
  ThreadPool three(3);
  const auto a = Reference::create(weights, Mode::kA8, one)->run(kIds, nullptr);
  const auto b = Reference::create(weights, Mode::kA8, three)->run(kIds, nullptr);
  EXPECT_EQ(a->values, b->values);
}

TEST(Reference, ATiedHeadIsTheEmbedding) {
  model::Weights weights = tiny_weights(tiny_spec(false), 5);
  model::DenseMatrix& head = std::get<model::DenseMatrix>(weights.lm_head.weight);
  head.values = weights.embedding.values;
  ThreadPool pool(1);
  const auto untied = Reference::create(weights, Mode::kF32, pool)->run(kIds, nullptr);
  weights.spec.tie_word_embeddings = true;
  weights.tied = true;
  weights.lm_head = {};
  const auto reference = Reference::create(weights, Mode::kF32, pool);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->run(kIds, nullptr)->values, untied->values);
}

TEST(Reference, RefusesBadTokensAndShapes) {
  model::Weights weights = tiny_weights(tiny_spec(false), 6);
  ThreadPool pool(1);
  const auto reference = Reference::create(weights, Mode::kF32, pool);
  ASSERT_TRUE(reference.ok());
  EXPECT_FALSE(reference->run({}, nullptr).ok());
  EXPECT_FALSE(reference->run(std::vector<int32_t>{37}, nullptr).ok());
  EXPECT_FALSE(reference->run(std::vector<int32_t>{-1}, nullptr).ok());
  EXPECT_FALSE(reference->run(std::vector<int32_t>(65, 1), nullptr).ok());
  const Step* step = reference->find_step("layers.0.q_proj");
  ASSERT_NE(step, nullptr);
  Matrix wrong(2, 23);
  EXPECT_FALSE(reference->evaluate(*step, {{}, {&wrong}, {}}).ok());
  EXPECT_FALSE(reference->evaluate(*step, {{}, {}, {}}).ok());
  QuantisedActivation codes;
  codes.rows = 1;
  codes.cols = 24;
  codes.codes.resize(23);
  codes.scales.resize(1);
  EXPECT_FALSE(reference->evaluate_codes(*step, codes).ok());
  EXPECT_EQ(reference->find_step("layers.2.q_proj"), nullptr);

  weights.layers[1].post_norm.pop_back();
  EXPECT_FALSE(Reference::create(weights, Mode::kF32, pool).ok());
  weights = tiny_weights(tiny_spec(false), 6);
  weights.layers.pop_back();
  EXPECT_FALSE(Reference::create(weights, Mode::kF32, pool).ok());
}

}  // namespace
}  // namespace trilith::reference
