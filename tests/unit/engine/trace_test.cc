// Traces and faults: every point in order, integers that add up, capture without effect, and faults
// that show where they are and nowhere before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "engine/engine.h"
#include "tiny_model.h"

namespace trilith::engine {
namespace {

class Recorder : public model::TraceSink {
 public:
  void record(std::string_view point, int64_t rows, int64_t cols,
              std::span<const float> values) override {
    EXPECT_EQ(static_cast<size_t>(rows * cols), values.size()) << point;
    order.emplace_back(point);
    floats[std::string(point)].assign(values.begin(), values.end());
  }
  void record_integers(std::string_view point, int64_t rows, int64_t cols,
                       std::span<const int32_t> values) override {
    EXPECT_EQ(static_cast<size_t>(rows * cols), values.size()) << point;
    integers[std::string(point)].assign(values.begin(), values.end());
  }
  // Float points without the scales of activations.
  std::vector<std::string> points() const {
    std::vector<std::string> names;
    for (const std::string& name : order) {
      if (!name.ends_with(".x_scale")) names.push_back(name);
    }
    return names;
  }

  std::vector<std::string> order;
  std::map<std::string, std::vector<float>> floats;
  std::map<std::string, std::vector<int32_t>> integers;
};

struct Traced {
  Recorder trace;
  std::vector<float> logits;
};

Traced run(const TinyModel& tiny, Mode mode, const EngineFault& fault = {}, bool traced = true) {
  Traced result;
  auto engine = Engine::create(make_weights(tiny), {.mode = mode, .fault = fault});
  const auto ids = make_ids(tiny, 11, 4);
  KvCache cache = *engine->make_cache(11);
  result.logits =
      engine->forward({{{&cache, ids, LogitsWanted::kAll}}}, traced ? &result.trace : nullptr)
          ->values;
  return result;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Trace, HasEveryPointInOrderAndChangesNothing) {
  for (const bool bitnet : {false, true}) {
    for (const bool tied : {false, true}) {
      for (const Mode mode : {Mode::kA8, Mode::kA16, Mode::kF32}) {
        TinyModel tiny;
        tiny.bitnet = bitnet;
        tiny.tied = tied;
        const Traced with = run(tiny, mode);
        const Traced without = run(tiny, mode, {}, false);
        EXPECT_TRUE(same_bits(with.logits, without.logits));
        EXPECT_TRUE(same_bits(with.logits, with.trace.floats.at("logits")));
        EXPECT_EQ(with.trace.points(), model::trace_points(make_weights(tiny).spec));
        EXPECT_EQ(with.trace.integers.contains("layers.1.down_proj.acc"), mode != Mode::kF32);
      }
    }
  }
}

TEST(Trace, IntegersAddUp) {
  for (const Linears linears : {Linears::kTernaryRow, Linears::kTernaryTensor, Linears::kInt8}) {
    for (const Mode mode : {Mode::kA8, Mode::kA16}) {
      TinyModel tiny;
      tiny.linears = linears;
      const Recorder trace = run(tiny, mode).trace;
      const auto weights = make_weights(tiny);
      const auto& matrix = std::get<packing::QuantMatrix>(weights.layers[1].down_proj.weight);
      const auto levels = *matrix.integer_levels();
      const auto& codes = trace.integers.at("layers.1.down_proj.x_codes");
      const auto& scales = trace.floats.at("layers.1.down_proj.x_scale");
      const auto& inputs = trace.floats.at("layers.1.act");
      const auto acc = trace.integers.find("layers.1.down_proj.acc");
      ASSERT_NE(acc, trace.integers.end());
      for (int64_t t = 0; t < 11; ++t) {
        for (int64_t k = 0; k < matrix.cols; ++k) {
          const auto i = static_cast<size_t>(t * matrix.cols + k);
          ASSERT_NEAR(codes[i], inputs[i] * scales[static_cast<size_t>(t)], 0.5 + 0x1p-9);
        }
        for (int64_t n = 0; n < matrix.rows; ++n) {
          int64_t sum = 0;
          for (int64_t k = 0; k < matrix.cols; ++k) {
            sum += int64_t{levels[static_cast<size_t>(n * matrix.cols + k)]} *
                   codes[static_cast<size_t>(t * matrix.cols + k)];
          }
          ASSERT_EQ(acc->second[static_cast<size_t>(t * matrix.rows + n)], sum);
        }
      }
    }
  }
}

// The first point at which two traces differ.
std::string first_difference(const Recorder& a, const Recorder& b) {
  for (const std::string& point : a.order) {
    if (!same_bits(a.floats.at(point), b.floats.at(point))) return point;
  }
  return "";
}

TEST(Faults, ShowWhereTheyAreAndNowhereBefore) {
  const TinyModel tiny;
  const Recorder clean = run(tiny, Mode::kA16).trace;
  EXPECT_EQ(first_difference(clean, run(tiny, Mode::kA16).trace), "");
  using Kind = EngineFault::Kind;
  const Recorder skipped = run(tiny, Mode::kA16,
                               {.kind = Kind::kSkipRows,
                                .layer = 1,
                                .role = model::Role::kKProj,
                                .first_row = 4,
                                .row_count = 8})
                               .trace;
  EXPECT_EQ(first_difference(clean, skipped), "layers.1.k_proj");
  const auto& k = skipped.floats.at("layers.1.k_proj");
  const auto& clean_k = clean.floats.at("layers.1.k_proj");
  const auto width = static_cast<size_t>(tiny.kv_heads * tiny.head_dim);
  for (size_t i = 0; i < k.size(); ++i) {
    const bool inside = i % width >= 4 && i % width < 12;
    EXPECT_EQ(k[i], inside ? 0.0F : clean_k[i]);
  }
  EXPECT_EQ(
      first_difference(
          clean, run(tiny, Mode::kA16, {.kind = Kind::kRopeTheta, .layer = 1, .factor = 50}).trace),
      "layers.1.q_rope");
  const EngineFault scale = {
      .kind = Kind::kActivationScale, .layer = 0, .role = model::Role::kDownProj, .factor = 1.0625};
  for (const Mode mode : {Mode::kA8, Mode::kA16}) {
    EXPECT_EQ(first_difference(run(tiny, mode).trace, run(tiny, mode, scale).trace),
              "layers.0.down_proj");
  }
}

}  // namespace
}  // namespace trilith::engine
