// Sampling and generation.
#include "engine/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/rope_table.h"
#include "tiny_model.h"

namespace trilith::engine {
namespace {

using ::testing::HasSubstr;

TEST(Sampler, CounterGeneratorIsPhilox) {
  // Known answers of Random123 for philox4x32-10: the first two words, as a fraction of 2^64.
  EXPECT_EQ(uniform(0, 0), static_cast<double>(0x6627e8d5e169c58dULL >> 11) * 0x1p-53);
  EXPECT_NE(uniform(0, 1), uniform(0, 0));
  EXPECT_NE(uniform(1, 0), uniform(0, 0));
  double mean = 0;
  for (uint64_t i = 0; i < 100000; ++i) mean += uniform(7, i);
  EXPECT_NEAR(mean / 100000, 0.5, 5 * std::sqrt(1.0 / 12 / 100000));
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 2.0F};
  const Sample s = *sample(logits, {}, 0);
  EXPECT_EQ(s.id, 1);
  const double sum = std::exp(0.5) + 2 * std::exp(2.0) + std::exp(-1.0);
  EXPECT_NEAR(s.logprob, 2.0 - std::log(sum), 1e-14);
}

// Counts of 20,000 draws against the distribution that temperature and cuts define.
void expect_distribution(const Sampling& settings, const std::vector<double>& expected) {
  const std::vector<float> logits = {1.0F, 0.0F, 2.0F, -1.0F, 1.5F};
  const int draws = 20000;
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i) {
    ++counts[static_cast<size_t>(sample(logits, settings, static_cast<uint64_t>(i))->id)];
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const double sigma = std::sqrt(draws * expected[i] * (1 - expected[i]));
    EXPECT_NEAR(counts[i], draws * expected[i], 5 * sigma) << "token " << i;
  }
}

std::vector<double> softmax_of(const std::vector<double>& exponents) {
  std::vector<double> p;
  double sum = 0;
  for (const double e : exponents) sum += std::exp(e);
  for (const double e : exponents) p.push_back(std::exp(e) / sum);
  return p;
}

TEST(Sampler, DrawsFromTheDistribution) {
  const double none = -std::numeric_limits<double>::infinity();
  expect_distribution({.temperature = 1, .seed = 3}, softmax_of({1, 0, 2, -1, 1.5}));
  expect_distribution({.temperature = 0.5, .seed = 4}, softmax_of({2, 0, 4, -2, 3}));
  expect_distribution({.temperature = 1, .top_k = 2, .seed = 5},
                      softmax_of({none, none, 2, none, 1.5}));
  // Probabilities .170 .063 .463 .023 .281: the two largest reach 0.7, three reach 0.85.
  expect_distribution({.temperature = 1, .top_p = 0.7, .seed = 6},
                      softmax_of({none, none, 2, none, 1.5}));
  expect_distribution({.temperature = 1, .top_p = 0.85, .seed = 7},
                      softmax_of({1, none, 2, none, 1.5}));
  expect_distribution({.temperature = 1, .top_p = 0.01, .seed = 8}, {0, 0, 1, 0, 0});
}

TEST(Sampler, Refusals) {
  const std::vector<float> logits = {1.0F, 2.0F};
  EXPECT_FALSE(sample(logits, {.temperature = -1}, 0).ok());
  EXPECT_FALSE(sample(logits, {.temperature = std::nan("")}, 0).ok());
  EXPECT_FALSE(sample(logits, {.top_k = -1}, 0).ok());
  EXPECT_FALSE(sample(logits, {.top_p = 0}, 0).ok());
  EXPECT_FALSE(sample(logits, {.top_p = 1.5}, 0).ok());
  const std::vector<float> bad = {1.0F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(sample(bad, {}, 0).error().kind, ErrorKind::kRuntime);
}

TEST(RopeTableTest, IsCosAndSinRoundedOnce) {
  RopeTable table({500000.0, 64});
  table.grow(10);
  table.grow(3000);
  for (const int64_t position : {0, 1, 9, 10, 777, 2999}) {
    for (int64_t i = 0; i < 32; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(500000.0, -static_cast<double>(i) / 32);
      // Half an ulp of the float, and what the angle's own relative error of 2^-50 does.
      const double slack = 0x1p-25 + angle * 0x1p-50;
      EXPECT_NEAR(static_cast<double>(table.cos(position)[i]), std::cos(angle), slack);
      EXPECT_NEAR(static_cast<double>(table.sin(position)[i]), std::sin(angle), slack);
    }
  }
}

class Generate : public ::testing::Test {
 protected:
  Generate() {
    tiny_.context = 64;
    engine_ = std::make_unique<Engine>(*Engine::create(make_weights(tiny_), {}));
  }
  Result<Generation> run(const std::vector<int32_t>& prompt, const GenerateOptions& options) {
    seen_.clear();
    return generate(
        *engine_, prompt, options,
        [this](int32_t id) {
          seen_.push_back(id);
          return seen_.size() != stop_after_;
        },
        [] { return true; });
  }

  TinyModel tiny_;
  std::unique_ptr<Engine> engine_;
  std::vector<int32_t> seen_;
  size_t stop_after_ = 0;
};

TEST_F(Generate, GreedyIsTheArgmaxOfEachForward) {
  auto prompt = make_ids(tiny_, 10, 1);
  const Generation g = *run(prompt, {.max_new_tokens = 12});
  EXPECT_EQ(g.reason, StopReason::kLength);
  EXPECT_EQ(g.ids, seen_);
  EXPECT_EQ(g.logprobs.size(), 12U);
  for (const int32_t id : g.ids) {
    KvCache cache = *engine_->make_cache(64);
    const auto logits = *engine_->forward({{{&cache, prompt}}});
    const auto row = logits.row(0);
    EXPECT_EQ(std::max_element(row.begin(), row.end()) - row.begin(), id);
    prompt.push_back(id);
  }
  const auto short_chunks =
      *run(make_ids(tiny_, 10, 1), {.max_new_tokens = 12, .prefill_chunk = 3});
  EXPECT_EQ(short_chunks.ids, g.ids);
  EXPECT_EQ(short_chunks.logprobs, g.logprobs);
}

TEST_F(Generate, SeedsAreReproducible) {
  const auto prompt = make_ids(tiny_, 10, 1);
  const GenerateOptions options = {.max_new_tokens = 20,
                                   .sampling = {.temperature = 1.5, .seed = 11}};
  GenerateOptions other = options;
  other.sampling.seed = 12;
  const auto first = run(prompt, options)->ids;
  EXPECT_EQ(run(prompt, options)->ids, first);
  EXPECT_NE(run(prompt, other)->ids, first);
}

TEST_F(Generate, DrawsWithTheSeedAtThePosition) {
  auto prompt = make_ids(tiny_, 10, 1);
  const Sampling sampling = {.temperature = 1.2, .top_k = 20, .top_p = 0.9, .seed = 5};
  const Generation g = *run(prompt, {.max_new_tokens = 8, .sampling = sampling});
  for (size_t i = 0; i < g.ids.size(); ++i) {
    KvCache cache = *engine_->make_cache(64);
    const auto logits = *engine_->forward({{{&cache, prompt}}});
    const Sample expected = *sample(logits.row(0), sampling, prompt.size());
    EXPECT_EQ(g.ids[i], expected.id);
    EXPECT_EQ(g.logprobs[i], expected.logprob);
    prompt.push_back(g.ids[i]);
  }
}

TEST_F(Generate, Stops) {
  const auto prompt = make_ids(tiny_, 10, 1);
  const auto free = run(prompt, {.max_new_tokens = 12})->ids;
  const int32_t stop = free[5];
  const auto at = static_cast<size_t>(std::find(free.begin(), free.end(), stop) - free.begin());
  const Generation stopped = *run(prompt, {.max_new_tokens = 12, .stop_ids = {stop}});
  EXPECT_EQ(stopped.reason, StopReason::kStopToken);
  EXPECT_EQ(stopped.ids,
            std::vector<int32_t>(free.begin(), free.begin() + static_cast<int64_t>(at)));

  stop_after_ = 3;
  EXPECT_EQ(run(prompt, {.max_new_tokens = 12})->ids.size(), 3U);
  EXPECT_EQ(run(prompt, {.max_new_tokens = 12})->reason, StopReason::kStopped);
  stop_after_ = 0;

  const Generation full = *run(prompt, {.max_new_tokens = 1000});
  EXPECT_EQ(full.reason, StopReason::kContext);
  EXPECT_EQ(full.ids.size(), 55U);  // 54 fed back fill positions 10 … 63; the last is free

  EXPECT_TRUE(run(prompt, {.max_new_tokens = 0})->ids.empty());
}

TEST_F(Generate, Refusals) {
  EXPECT_THAT(run({}, {}).error().to_string(), HasSubstr("no tokens"));
  EXPECT_THAT(run(make_ids(tiny_, 64, 1), {}).error().to_string(), HasSubstr("context"));
  EXPECT_FALSE(run(make_ids(tiny_, 4, 1), {.max_new_tokens = -1}).ok());
  EXPECT_TRUE(run(make_ids(tiny_, 63, 1), {}).ok());
}

}  // namespace
}  // namespace trilith::engine
