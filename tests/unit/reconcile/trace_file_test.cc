#include "reconcile/trace_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/fingerprint.h"
#include "checkpoint/safetensors.h"
#include "reconcile/trace_writer.h"

namespace trilith::reconcile {
namespace {

class TraceFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("trilith_trace_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "trace.safetensors").string(); }

  // Two prompts of 12 and 3 tokens, values 100 · prompt + 10 · row + column at each point.
  Result<TraceFile> round_trip(const TraceOptions& options) {
    TraceWriter writer(options);
    for (const int64_t tokens : {12, 3}) {
      std::vector<int32_t> ids(static_cast<size_t>(tokens));
      for (size_t t = 0; t < ids.size(); ++t) ids[t] = static_cast<int32_t>(5 + t);
      writer.begin_prompt(ids);
      const std::vector<float> values = numbers(tokens, 4);
      const std::vector<int32_t> integers(values.begin(), values.end());
      writer.record("embed", tokens, 4, values);
      writer.record_integers("layers.0.q_proj.x_codes", tokens, 4, integers);
      writer.record_integers("layers.0.q_proj.acc", tokens, 4, integers);
      writer.record("layers.0.q_proj", tokens, 4, values);
      writer.record("logits", tokens, 4, values);
    }
    const Status status = writer.write(path(), Json::object({{"mode", "f32"}}));
    if (!status.ok()) return status.error();
    return TraceFile::open(path());
  }

  static std::vector<float> numbers(int64_t rows, int64_t cols) {
    std::vector<float> values;
    for (int64_t t = 0; t < rows; ++t) {
      for (int64_t i = 0; i < cols; ++i) values.push_back(static_cast<float>(10 * t + i));
    }
    return values;
  }

  void write_tensors(std::initializer_list<checkpoint::TensorToWrite> tensors,
                     const std::string& description = "{}") {
    ASSERT_TRUE(checkpoint::write_safetensors(path(), std::span(tensors.begin(), tensors.size()),
                                              Json::object({{"trilith.trace", description}}))
                    .ok());
  }

  std::filesystem::path folder_;
};

TEST_F(TraceFiles, FullKeepsEverything) {
  const auto trace = round_trip({});
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  EXPECT_EQ(trace->prompt_count(), 2);
  EXPECT_EQ(trace->ids(1), (std::vector<int32_t>{5, 6, 7}));
  EXPECT_EQ(trace->rows(0).size(), 12U);
  const TensorView* q = trace->find(0, "layers.0.q_proj");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->dtype, DType::kF32);
  EXPECT_EQ(to_floats(*q), numbers(12, 4));
  EXPECT_EQ(trace->find(1, "layers.0.q_proj.x_codes")->dtype, DType::kI8);
  EXPECT_EQ(trace->find(1, "layers.0.q_proj.acc")->dtype, DType::kI32);
  EXPECT_EQ(element_as_float(*trace->find(1, "layers.0.q_proj.x_codes"), 5), 11.0F);
  EXPECT_EQ(trace->find(2, "embed"), nullptr);
  EXPECT_EQ(*trace->description()["schema"].as_string(), "trilith.trace/1");
  EXPECT_EQ(*trace->description()["mode"].as_string(), "f32");
  EXPECT_EQ(trace->points(0).size(), 6U);  // with top10
}

TEST_F(TraceFiles, TopIdsAreLargestFirst) {
  const auto trace = round_trip({});
  const TensorView* top = trace->find(1, "top10");
  ASSERT_NE(top, nullptr);
  EXPECT_EQ(top->dtype, DType::kI64);
  EXPECT_EQ(top->shape, (Shape{3, 4}));  // no more than there are
  EXPECT_EQ(element_as_float(*top, 0), 3.0F);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{nan, 2, 5, 5, -1};
  EXPECT_EQ(top_ids(logits, 1, 5, 10), (std::vector<int64_t>{2, 3, 1, 4, 0}));
}

TEST_F(TraceFiles, SampledKeepsTheSameRowsAtEveryPointAndSummariesOfAll) {
  TraceOptions options;
  options.full_prompts = 0;
  options.sampled_rows = 4;
  const auto trace = round_trip(options);
  ASSERT_TRUE(trace.ok());
  const std::vector<int64_t>& rows = trace->rows(0);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows.front(), 0);
  EXPECT_EQ(rows.back(), 11);
  EXPECT_EQ(trace->rows(1).size(), 3U);  // shorter than the sample: whole
  for (const char* point : {"embed", "logits", "layers.0.q_proj"}) {
    const std::vector<float> stored = to_floats(*trace->find(0, point));
    for (size_t i = 0; i < stored.size(); ++i) {
      EXPECT_EQ(stored[i], static_cast<float>(10 * rows[i / 4]) + static_cast<float>(i % 4));
    }
  }
  const auto summary = trace->summary(0, "layers.0.q_proj");
  ASSERT_TRUE(summary.has_value());
  const std::vector<float> all = numbers(12, 4);
  EXPECT_EQ(summary->rows, 12);
  EXPECT_EQ(summary->ordered, fingerprint(all).ordered);
  EXPECT_EQ(summary->multiset, fingerprint(all).multiset);
  double squares = 0;
  for (const float value : all) squares += std::pow(static_cast<double>(value), 2);
  EXPECT_DOUBLE_EQ(summary->l2, std::sqrt(squares));
  EXPECT_FALSE(trace->summary(0, "nowhere").has_value());
}

TEST_F(TraceFiles, FirstPromptsWholeOthersSampled) {
  TraceOptions options;
  options.full_prompts = 1;
  options.sampled_rows = 2;
  const auto trace = round_trip(options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->rows(0).size(), 12U);
  EXPECT_EQ(trace->rows(1), (std::vector<int64_t>{0, 2}));
}

TEST_F(TraceFiles, FingerprintLevelKeepsSummariesOnly) {
  TraceOptions options;
  options.level = TraceLevel::kFingerprint;
  const auto trace = round_trip(options);
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE(trace->points(0).empty());
  EXPECT_EQ(trace->ids(0).size(), 12U);
  EXPECT_TRUE(trace->summary(1, "logits").has_value());
}

TEST_F(TraceFiles, ChosenPointsOnly) {
  TraceOptions options;
  options.points = {"q_proj", "logits"};
  const auto trace = round_trip(options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->find(0, "embed"), nullptr);
  EXPECT_EQ(trace->find(0, "layers.0.q_proj.acc"), nullptr);
  EXPECT_NE(trace->find(0, "layers.0.q_proj"), nullptr);
  EXPECT_TRUE(trace->summary(0, "embed").has_value());
}

TEST_F(TraceFiles, SampleRowsDependOnSeedAndPromptAlone) {
  const auto rows = sample_rows(64, 8, 3, 1);
  EXPECT_EQ(rows, sample_rows(64, 8, 3, 1));
  EXPECT_NE(rows, sample_rows(64, 8, 4, 1));
  EXPECT_NE(rows, sample_rows(64, 8, 3, 2));
  for (const int64_t tokens : {1, 2, 3, 9, 64}) {
    for (const int64_t count : {0, 1, 2, 3, 8, 100}) {
      const auto chosen = sample_rows(tokens, count, 7, 0);
      ASSERT_EQ(static_cast<int64_t>(chosen.size()), std::min(tokens, count));
      for (size_t i = 0; i < chosen.size(); ++i) {
        EXPECT_LT(chosen[i], tokens);
        EXPECT_GT(chosen[i], i == 0 ? -1 : chosen[i - 1]);
      }
    }
  }
}

TEST_F(TraceFiles, AForeignTraceNeedsNoMetadata) {
  const std::vector<int64_t> ids{4, 2};
  const std::vector<float> values{1, 2, 3, 4};
  const std::vector<checkpoint::TensorToWrite> tensors{
      {"p0.ids", DType::kI64, {2}, std::as_bytes(std::span(ids))},
      {"p0.embed", DType::kF32, {2, 2}, std::as_bytes(std::span(values))},
      {"note", DType::kF32, {4}, std::as_bytes(std::span(values))}};
  ASSERT_TRUE(checkpoint::write_safetensors(path(), tensors, Json::object()).ok());
  const auto trace = TraceFile::open(path());
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  EXPECT_TRUE(trace->description().is_null());
  EXPECT_EQ(trace->rows(0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(trace->points(0), (std::vector<std::string>{"embed"}));
}

TEST_F(TraceFiles, DamagedTracesAreRefused) {
  const std::vector<int64_t> ids{4, 2};
  const std::vector<int64_t> negative{4, -2};
  const std::vector<float> values{1, 2, 3, 4};
  const auto id_bytes = std::as_bytes(std::span(ids));
  const auto value_bytes = std::as_bytes(std::span(values));
  const checkpoint::TensorToWrite good{"p0.ids", DType::kI64, {2}, id_bytes};
  const auto opens = [&] { return TraceFile::open(path()).ok(); };
  write_tensors({good});
  EXPECT_TRUE(opens());
  write_tensors({{"p1.ids", DType::kI64, {2}, id_bytes}});  // no prompt 0
  EXPECT_FALSE(opens());
  write_tensors({{"p0.ids", DType::kI64, {2}, std::as_bytes(std::span(negative))}});
  EXPECT_FALSE(opens());
  write_tensors({{"p0.ids", DType::kF32, {4}, value_bytes}});
  EXPECT_FALSE(opens());
  write_tensors({good, {"p0.embed", DType::kF32, {4, 1}, value_bytes}});  // four rows, two tokens
  EXPECT_FALSE(opens());
  write_tensors({good}, "{\"rows\": {\"p0\": [1, 0]}}");
  EXPECT_FALSE(opens());
  write_tensors({good}, "{\"rows\": {\"p0\": [1, 1]}}");
  EXPECT_FALSE(opens());
  write_tensors({good}, "{\"rows\": {\"p0\": [2]}}");
  EXPECT_FALSE(opens());
  write_tensors({good}, "{\"rows\": {\"p0\": 1}}");
  EXPECT_FALSE(opens());
  write_tensors({good}, "{");
  EXPECT_FALSE(opens());
}

}  // namespace
}  // namespace trilith::reconcile
