// What the engine refuses, and that a refused call changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/engine.h"
#include "tiny_model.h"

namespace trilith::engine {
namespace {

using ::testing::HasSubstr;

Error refusal(model::Weights weights, const Options& options = {}) {
  auto engine = Engine::create(std::move(weights), options);
  if (engine.ok()) {
    ADD_FAILURE() << "was not refused";
    return Error::runtime("");
  }
  return engine.error();
}

TEST(EngineErrors, Options) {
  const TinyModel tiny;
  EXPECT_EQ(refusal(make_weights(tiny), {.isa = "avx9000"}).kind, ErrorKind::kUsage);
  EXPECT_EQ(refusal(make_weights(tiny), {.threads = -1}).kind, ErrorKind::kUsage);
  EXPECT_FALSE(mode_from_name("a4").ok());
  for (const Mode mode : {Mode::kA8, Mode::kA16, Mode::kF32}) {
    EXPECT_EQ(*mode_from_name(mode_name(mode)), mode);
  }
}

TEST(EngineErrors, DefaultModeIsWhatTheModelWasTrainedWith) {
  TinyModel tiny;
  EXPECT_EQ(Engine::create(make_weights(tiny), {})->mode(), Mode::kA16);
  tiny.bitnet = true;
  EXPECT_EQ(Engine::create(make_weights(tiny), {})->mode(), Mode::kA8);
}

TEST(EngineErrors, Weights) {
  const TinyModel tiny;
  auto weights = make_weights(tiny);
  std::get<packing::QuantMatrix>(weights.layers[1].k_proj.weight).codes[77] = 3;
  Error error = refusal(std::move(weights));
  EXPECT_EQ(error.kind, ErrorKind::kDamaged);
  EXPECT_THAT(error.to_string(), HasSubstr("model.layers.1.self_attn.k_proj"));
  EXPECT_THAT(error.to_string(), HasSubstr("77"));

  weights = make_weights(tiny);
  std::get<packing::QuantMatrix>(weights.layers[0].o_proj.weight).scales[3] =
      std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(std::move(weights)).to_string(), HasSubstr("o_proj"));

  weights = make_weights(tiny);
  std::swap(weights.layers[0].gate_proj, weights.layers[0].down_proj);
  EXPECT_THAT(refusal(std::move(weights)).to_string(), HasSubstr("gate_proj"));

  weights = make_weights(tiny);
  weights.layers[0].post_norm.pop_back();
  EXPECT_THAT(refusal(std::move(weights)).to_string(), HasSubstr("post_attention_layernorm"));

  weights = make_weights(tiny);
  weights.layers.pop_back();
  EXPECT_EQ(refusal(std::move(weights)).kind, ErrorKind::kDamaged);

  weights = make_weights(tiny);
  weights.embedding.values.pop_back();
  EXPECT_EQ(refusal(std::move(weights)).kind, ErrorKind::kDamaged);

  weights = make_weights(tiny);
  weights.spec.activation = model::MlpActivation::kGeluTanh;
  EXPECT_EQ(refusal(std::move(weights)).kind, ErrorKind::kUnsupported);

  weights = make_weights(tiny);
  weights.spec.rope.head_dim = 8;
  EXPECT_EQ(refusal(std::move(weights)).kind, ErrorKind::kUnsupported);
}

class ForwardErrors : public ::testing::Test {
 protected:
  ForwardErrors() : engine_(*Engine::create(make_weights(tiny_), {})) {}

  void expect_usage_error(const Batch& batch, const std::string& words) {
    const auto logits = engine_.forward(batch);
    ASSERT_FALSE(logits.ok()) << words;
    EXPECT_EQ(logits.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(logits.error().to_string(), HasSubstr(words));
    EXPECT_EQ(cache_.length(), 0);
  }

  TinyModel tiny_;
  Engine engine_;
  KvCache cache_ = *engine_.make_cache(8);
  std::vector<int32_t> ids_ = make_ids(tiny_, 8, 1);
};

TEST_F(ForwardErrors, Batches) {
  expect_usage_error({}, "without sequences");
  expect_usage_error({{{&cache_, {}}}}, "no tokens");
  expect_usage_error({{{nullptr, ids_}}}, "another model");
  expect_usage_error({{{&cache_, ids_}, {&cache_, ids_}}}, "another sequence");
  std::vector<int32_t> bad = ids_;
  bad[7] = static_cast<int32_t>(tiny_.vocab);
  expect_usage_error({{{&cache_, bad}}}, "outside the vocabulary");
  bad[7] = -1;
  expect_usage_error({{{&cache_, bad}}}, "outside the vocabulary");
  bad.assign(9, 0);
  expect_usage_error({{{&cache_, bad}}}, "context is full");
  TinyModel other;
  other.layers = 1;
  const Engine second = *Engine::create(make_weights(other), {});
  KvCache foreign = *second.make_cache(8);
  expect_usage_error({{{&foreign, ids_}}}, "another model");
}

TEST_F(ForwardErrors, Caches) {
  EXPECT_FALSE(engine_.make_cache(0).ok());
  EXPECT_FALSE(engine_.make_cache(tiny_.context + 1).ok());
  model::ModelSpec huge = engine_.spec();
  huge.max_position_embeddings = int64_t{1} << 40;
  EXPECT_FALSE(KvCache::create(huge, int64_t{1} << 40).ok());
  huge.num_hidden_layers = int64_t{1} << 40;
  EXPECT_FALSE(KvCache::create(huge, int64_t{1} << 40).ok());
}

}  // namespace
}  // namespace trilith::engine
