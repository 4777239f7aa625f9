// Every architecture that can be described: the engine against the reference, and one answer
// however it is asked for.
#include "support/architectures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/engine.h"
#include "kernels/registry.h"
#include "reference/reference.h"

namespace trilith::engine {
namespace {

using support::LinearKind;

std::vector<int32_t> ids_of(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(i * i * 7 % 50));
  return ids;
}

class Architecture : public testing::TestWithParam<support::NamedSpec> {
 protected:
  static model::Weights weights(LinearKind kind) {
    return support::random_weights(GetParam().spec, kind, 3);
  }
  static Engine make(LinearKind kind, Mode mode, const std::string& isa = "", int threads = 1) {
    auto engine = Engine::create(weights(kind), {.mode = mode, .isa = isa, .threads = threads});
    EXPECT_TRUE(engine.ok()) << engine.error().to_string();
    return std::move(engine).value();
  }
};

std::vector<float> logits_of(Engine& engine, const std::vector<int32_t>& ids, size_t chunk) {
  KvCache cache = *engine.make_cache(static_cast<int64_t>(ids.size()));
  std::vector<float> logits;
  for (size_t first = 0; first < ids.size(); first += chunk) {
    const auto part = std::span(ids).subspan(first, std::min(chunk, ids.size() - first));
    const auto rows = engine.forward({{{&cache, part, LogitsWanted::kAll}}});
    EXPECT_TRUE(rows.ok()) << rows.error().to_string();
    logits.insert(logits.end(), rows->values.begin(), rows->values.end());
  }
  return logits;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class PointNames final : public model::TraceSink {
 public:
  void record(std::string_view point, int64_t, int64_t, std::span<const float>) override {
    if (!point.ends_with(".x_scale")) names.emplace_back(point);
  }
  void record_integers(std::string_view, int64_t, int64_t, std::span<const int32_t>) override {}
  std::vector<std::string> names;
};

TEST_P(Architecture, AgreesWithTheReference) {
  const auto ids = ids_of(150);  // past one block of attention keys
  const model::Weights truth = weights(LinearKind::kDense);
  ThreadPool pool(1);
  const auto reference = reference::Reference::create(truth, reference::Mode::kF32, pool);
  ASSERT_TRUE(reference.ok()) << reference.error().to_string();
  PointNames of_reference;
  const auto expected = reference->run(ids, &of_reference);
  ASSERT_TRUE(expected.ok()) << expected.error().to_string();
  Engine engine = make(LinearKind::kDense, Mode::kF32);
  const auto found = logits_of(engine, ids, ids.size());
  ASSERT_EQ(found.size(), expected->values.size());
  double error = 0;
  double size = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double difference = static_cast<double>(found[i]) - expected->values[i];
    error += difference * difference;
    size += expected->values[i] * expected->values[i];
  }
  EXPECT_LT(std::sqrt(error / size), 5e-6);

  KvCache cache = *engine.make_cache(150);
  PointNames of_engine;
  ASSERT_TRUE(engine.forward({{{&cache, ids, LogitsWanted::kAll}}}, &of_engine).ok());
  EXPECT_EQ(of_engine.names, model::trace_points(engine.spec()));
  EXPECT_EQ(of_reference.names, of_engine.names);
}

TEST_P(Architecture, OneAnswer) {
  const auto ids = ids_of(140);
  for (const LinearKind kind : {LinearKind::kDense, LinearKind::kTernary}) {
    Engine engine = make(kind, Mode::kA16);
    const auto whole = logits_of(engine, ids, ids.size());
    for (const size_t chunk : {1U, 3U, 64U, 139U}) {
      ASSERT_TRUE(same_bits(logits_of(engine, ids, chunk), whole)) << "chunk " << chunk;
    }
    for (const std::string& isa : kernels::available_sets()) {
      Engine other = make(kind, Mode::kA16, isa, 3);
      ASSERT_TRUE(same_bits(logits_of(other, ids, ids.size()), whole)) << isa;
    }
    // Beside a neighbour.
    KvCache first = *engine.make_cache(20);
    KvCache second = *engine.make_cache(140);
    const auto neighbour = ids_of(20);
    const auto both = engine.forward(
        {{{&first, neighbour, LogitsWanted::kNone}, {&second, ids, LogitsWanted::kAll}}});
    ASSERT_TRUE(both.ok());
    ASSERT_TRUE(same_bits(both->values, whole));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Architecture, testing::ValuesIn(support::architectures()),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace trilith::engine
