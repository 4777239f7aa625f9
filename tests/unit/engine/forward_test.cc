// The forward pass against double, and one answer however it is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/engine.h"
#include "kernels/kernel_set.h"
#include "kernels/registry.h"
#include "tiny_model.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace trilith::engine {
namespace {

Engine make_engine(const TinyModel& tiny, Mode mode, const std::string& isa = "", int threads = 1) {
  auto engine = Engine::create(make_weights(tiny), {.mode = mode, .isa = isa, .threads = threads});
  EXPECT_TRUE(engine.ok()) << engine.error().to_string();
  return std::move(engine).value();
}

// Logits of every token, the prompt given in chunks of `chunk` tokens.
std::vector<float> all_logits(Engine& engine, const std::vector<int32_t>& ids, size_t chunk) {
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

double relative_error(const std::vector<float>& found, const std::vector<double>& truth) {
  double error = 0;
  double size = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double difference = static_cast<double>(found[i]) - truth[i];
    error += difference * difference;
    size += truth[i] * truth[i];
  }
  return std::sqrt(error / size);
}

std::vector<TinyModel> every_kind() {
  std::vector<TinyModel> models;
  for (const bool bitnet : {false, true}) {
    for (const Linears linears : {Linears::kTernaryRow, Linears::kTernaryTensor,
                                  Linears::kTernaryGroups, Linears::kInt8, Linears::kDense}) {
      TinyModel tiny;
      tiny.bitnet = bitnet;
      tiny.linears = linears;
      tiny.seed = models.size() + 1;
      tiny.tied = tiny.seed % 3 == 0;
      tiny.bias = tiny.seed % 2 == 0;
      tiny.dense_dtype = std::array{DType::kF32, DType::kF16, DType::kBF16}[tiny.seed % 3];
      models.push_back(tiny);
    }
  }
  return models;
}

TEST(Forward, AgreesWithPlainDoubleArithmetic) {
  for (const TinyModel& tiny : every_kind()) {
    const auto ids = make_ids(tiny, 40, tiny.seed);
    for (const Mode mode : {Mode::kF32, Mode::kA16}) {
      Engine engine = make_engine(tiny, mode);
      const double error = relative_error(all_logits(engine, ids, ids.size()),
                                          plain_forward(make_weights(tiny), mode, ids));
      // Float rounding grows over two layers (measured below 1e-6); a 16-bit activation
      // code may fall on the other side of a tie, one step of 2^-15 of a row's largest value in one
      // of its elements (measured 6.4e-5 at most).
      EXPECT_LT(error, mode == Mode::kF32 ? 2e-6 : 2e-4) << describe(tiny);
      RecordProperty(describe(tiny) + std::string(mode_name(mode)), std::to_string(error));
    }
  }
}

// Past one block of attention keys.
TEST(Forward, AgreesWithPlainDoubleArithmeticInLongContext) {
  TinyModel tiny;
  const auto ids = make_ids(tiny, 300, 3);
  Engine engine = make_engine(tiny, Mode::kF32);
  EXPECT_LT(relative_error(all_logits(engine, ids, ids.size()),
                           plain_forward(make_weights(tiny), Mode::kF32, ids)),
            1e-6);
}

TEST(OneAnswer, ChunksOfAPromptDoNotMatter) {
  for (const TinyModel& tiny : every_kind()) {
    const auto ids = make_ids(tiny, 150, tiny.seed);
    for (const Mode mode : {Mode::kA8, Mode::kA16, Mode::kF32}) {
      Engine engine = make_engine(tiny, mode);
      const auto whole = all_logits(engine, ids, ids.size());
      for (const size_t chunk : {1U, 2U, 7U, 64U, 149U}) {
        ASSERT_TRUE(same_bits(all_logits(engine, ids, chunk), whole))
            << describe(tiny) << " " << mode_name(mode) << " chunk " << chunk;
      }
    }
  }
}

TEST(OneAnswer, NeighboursDoNotMatter) {
  for (const TinyModel& tiny : every_kind()) {
    for (const Mode mode : {Mode::kA8, Mode::kA16, Mode::kF32}) {
      Engine engine = make_engine(tiny, mode);
      std::vector<std::vector<int32_t>> prompts;
      std::vector<KvCache> caches;
      for (const int64_t length : {5, 1, 18, 9}) {
        prompts.push_back(make_ids(tiny, length, static_cast<uint64_t>(length)));
        caches.push_back(*engine.make_cache(length));
      }
      Batch batch;
      for (size_t i = 0; i < prompts.size(); ++i) {
        batch.sequences.push_back({&caches[i], prompts[i], LogitsWanted::kAll});
      }
      std::vector<float> alone;
      for (const auto& prompt : prompts) {
        const auto logits = all_logits(engine, prompt, prompt.size());
        alone.insert(alone.end(), logits.begin(), logits.end());
      }
      ASSERT_TRUE(same_bits(engine.forward(batch)->values, alone)) << describe(tiny);
    }
  }
}

TEST(OneAnswer, WantedRowsAreThoseOfAll) {
  const TinyModel tiny;
  Engine engine = make_engine(tiny, Mode::kA16);
  const auto a = make_ids(tiny, 6, 1);
  const auto b = make_ids(tiny, 4, 2);
  const auto c = make_ids(tiny, 3, 3);
  const auto all_a = all_logits(engine, a, a.size());
  const auto all_c = all_logits(engine, c, c.size());
  KvCache ca = *engine.make_cache(6);
  KvCache cb = *engine.make_cache(4);
  KvCache cc = *engine.make_cache(3);
  const auto logits = *engine.forward({{{&ca, a, LogitsWanted::kLast},
                                        {&cb, b, LogitsWanted::kNone},
                                        {&cc, c, LogitsWanted::kAll}}});
  std::vector<float> expected(all_a.end() - tiny.vocab, all_a.end());
  expected.insert(expected.end(), all_c.begin(), all_c.end());
  EXPECT_EQ(logits.rows, 4);
  EXPECT_TRUE(same_bits(logits.values, expected));
}

// Large enough that every loop is shared out.
TEST(OneAnswer, ThreadsAndInstructionSetsDoNotMatter) {
  TinyModel tiny;
  tiny.hidden = 192;
  tiny.intermediate = 520;
  tiny.head_dim = 48;
  tiny.layers = 1;
  tiny.vocab = 700;
  for (const Linears linears :
       {Linears::kTernaryRow, Linears::kInt8, Linears::kTernaryGroups, Linears::kDense}) {
    tiny.linears = linears;
    const auto ids = make_ids(tiny, 140, 9);
    for (const Mode mode : {Mode::kA8, Mode::kA16, Mode::kF32}) {
      Engine scalar = make_engine(tiny, mode, "scalar");
      const auto expected = all_logits(scalar, ids, ids.size());
      for (const std::string& isa : kernels::available_sets()) {
        for (const int threads : {1, 3}) {
          // The scalar set is slow: once more, on several threads, is enough of it.
          if (isa == "scalar" && (threads == 1 || linears != Linears::kTernaryRow)) continue;
          Engine engine = make_engine(tiny, mode, isa, threads);
          ASSERT_EQ(engine.threads(), threads);
          ASSERT_TRUE(same_bits(all_logits(engine, ids, ids.size()), expected))
              << describe(tiny) << " " << mode_name(mode) << " " << isa << " " << threads;
        }
      }
    }
  }
}

TEST(OneAnswer, TheForcedSetRuns) {
  if (kernels::available_sets().size() < 2) GTEST_SKIP() << "only the scalar set here";
  const auto counters = [] {
    std::vector<uint64_t> calls(std::begin(kernels::scalar_counters.calls),
                                std::end(kernels::scalar_counters.calls));
    return calls;
  };
  const TinyModel tiny;
  const auto ids = make_ids(tiny, 5, 1);
  Engine best = make_engine(tiny, Mode::kA8, kernels::available_sets().back());
  const kernels::KernelSet* set = *kernels::choose_kernels(kernels::available_sets().back());
  const uint64_t dots = set->counters->calls[kernels::kOpPanel2Dot];
  const auto before = counters();
  all_logits(best, ids, ids.size());
  EXPECT_GT(set->counters->calls[kernels::kOpPanel2Dot], dots);
  EXPECT_EQ(counters(), before);
  Engine scalar = make_engine(tiny, Mode::kA8, "scalar");
  all_logits(scalar, ids, ids.size());
  EXPECT_GT(kernels::scalar_counters.calls[kernels::kOpPanel2Dot], before[kernels::kOpPanel2Dot]);
}

#if defined(__x86_64__)
TEST(OneAnswer, TheCallersFloatModeDoesNotMatter) {
  const TinyModel tiny;
  const auto ids = make_ids(tiny, 20, 1);
  Engine engine = make_engine(tiny, Mode::kA16);
  const auto expected = all_logits(engine, ids, ids.size());
  auto weights = make_weights(tiny);
  const unsigned original = _mm_getcsr();
  const unsigned hostile = 0x1f80U | 0x8040U | 0x4000U;  // FTZ, DAZ, upward
  _mm_setcsr(hostile);
  Engine made_under_it = *Engine::create(std::move(weights), {.mode = Mode::kA16});
  const auto found = all_logits(engine, ids, ids.size());
  const auto found_too = all_logits(made_under_it, ids, ids.size());
  const unsigned after = _mm_getcsr();
  _mm_setcsr(original);
  EXPECT_TRUE(same_bits(found, expected));
  EXPECT_TRUE(same_bits(found_too, expected));
  EXPECT_EQ(after & 0xffc0U, hostile);
}
#endif

TEST(OneAnswer, FromWeightsGivenOrBorrowed) {
  for (const TinyModel& tiny : every_kind()) {
    const auto ids = make_ids(tiny, 6, 1);
    const model::Weights weights = make_weights(tiny);
    Engine given = make_engine(tiny, Mode::kA16);
    for (int i = 0; i < 2; ++i) {  // the first leaves the weights as they are
      auto borrowed = Engine::create(weights, {.mode = Mode::kA16});
      ASSERT_TRUE(borrowed.ok()) << borrowed.error().to_string();
      EXPECT_TRUE(same_bits(all_logits(*borrowed, ids, 6), all_logits(given, ids, 6)))
          << describe(tiny);
    }
  }
}

TEST(KvCacheTest, TruncatedCacheGoesOnAsIfNothingHadBeen) {
  const TinyModel tiny;
  Engine engine = make_engine(tiny, Mode::kA16);
  const auto ids = make_ids(tiny, 12, 1);
  const auto other = make_ids(tiny, 12, 2);
  KvCache cache = *engine.make_cache(12);
  const auto expected = all_logits(engine, ids, 12);
  ASSERT_TRUE(engine.forward({{{&cache, std::span(ids).first(4)}}}).ok());
  ASSERT_TRUE(engine.forward({{{&cache, std::span(other).first(8)}}}).ok());
  cache.truncate(4);
  const auto logits = *engine.forward({{{&cache, std::span(ids).subspan(4), LogitsWanted::kAll}}});
  EXPECT_TRUE(same_bits(logits.values, {expected.begin() + 4 * tiny.vocab, expected.end()}));
}

}  // namespace
}  // namespace trilith::engine
