// model_spec_from_config: the defaults of transformers' config classes, every refusal by name.
#include "model/model_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support/architectures.h"

namespace trilith::model {
namespace {

Json llama() {
  return *Json::parse(R"({"architectures":["LlamaForCausalLM"],"model_type":"llama",
    "vocab_size":64,"hidden_size":32,"intermediate_size":48,"num_hidden_layers":2,
    "num_attention_heads":4})");
}

Json bitnet() {
  return *Json::parse(R"({"model_type":"bitnet","vocab_size":64,"hidden_size":40,
    "intermediate_size":48,"num_hidden_layers":2,"num_attention_heads":10})");
}

Json without_architectures() {
  Json config = llama();
  config.as_object()->erase(config.as_object()->begin());
  return config;
}

Json with(Json config, const char* key, Json value) {
  config.set(key, std::move(value));
  return config;
}

ModelSpec spec_of(const Json& config, const Json& generation = {}) {
  const auto spec = model_spec_from_config(config, generation);
  EXPECT_TRUE(spec.ok()) << spec.error().to_string();
  return spec.ok() ? *spec : ModelSpec();
}

TEST(ModelSpec, LlamaDefaultsAreThoseOfTransformers) {
  const ModelSpec spec = spec_of(llama());
  EXPECT_EQ(spec.model_type, "llama");
  EXPECT_EQ(spec.num_key_value_heads, 4);
  EXPECT_EQ(spec.head_dim, 8);
  EXPECT_EQ(spec.rope, (RopeSpec{10000.0, 8}));
  EXPECT_EQ(spec.rms_norm_eps, 1e-6);
  EXPECT_EQ(spec.activation, MlpActivation::kSilu);
  EXPECT_EQ(spec.max_position_embeddings, 2048);
  EXPECT_FALSE(spec.tie_word_embeddings);
  EXPECT_FALSE(spec.qkv_bias || spec.o_bias || spec.mlp_bias || spec.attn_sub_norm ||
               spec.ffn_sub_norm);
  EXPECT_FALSE(spec.int8_activations);
  EXPECT_TRUE(spec.eos_token_ids.empty());
}

TEST(ModelSpec, BitNetDefaultsAreThoseOfTransformers) {
  const ModelSpec spec = spec_of(bitnet());
  EXPECT_EQ(spec.architecture, "BitNetForCausalLM");
  EXPECT_EQ(spec.num_key_value_heads, 5);
  EXPECT_EQ(spec.rope, (RopeSpec{500000.0, 4}));
  EXPECT_EQ(spec.rms_norm_eps, 1e-5);
  EXPECT_EQ(spec.activation, MlpActivation::kRelu2);
  EXPECT_TRUE(spec.attn_sub_norm && spec.ffn_sub_norm && spec.int8_activations);
  EXPECT_EQ(spec_of(with(bitnet(), "num_key_value_heads", nullptr)).num_key_value_heads, 10);
}

TEST(ModelSpec, RopeThetaIsFoundWhereverItLies) {
  EXPECT_EQ(spec_of(with(llama(), "rope_theta", 5e5)).rope.theta, 5e5);
  const Json nested = Json::object({{"rope_type", "default"}, {"rope_theta", 7e3}});
  EXPECT_EQ(spec_of(with(llama(), "rope_parameters", nested)).rope.theta, 7e3);
  EXPECT_EQ(spec_of(with(with(llama(), "rope_parameters", nested), "rope_theta", 9.0)).rope.theta,
            7e3);
  const Json silent = Json::object({{"rope_type", "default"}});
  EXPECT_EQ(spec_of(with(with(llama(), "rope_parameters", silent), "rope_theta", 9.0)).rope.theta,
            9.0);
  EXPECT_EQ(spec_of(with(llama(), "rope_scaling", nullptr)).rope.theta, 1e4);
  EXPECT_EQ(spec_of(with(with(llama(), "rope_scaling", Json::object({{"type", "default"}})),
                         "rope_parameters", nested))
                .rope.theta,
            1e4);  // rope_scaling overrides
}

Json family(const char* model_type) {
  return with(without_architectures(), "model_type", model_type);
}

TEST(ModelSpec, DefaultsOfTheOtherFamilies) {
  const ModelSpec mistral = spec_of(with(family("mistral"), "num_key_value_heads", 2));
  EXPECT_EQ(mistral.architecture, "MistralForCausalLM");
  EXPECT_EQ(mistral.layers, (std::vector<LayerSpec>(2, {4096, true})));
  EXPECT_EQ(mistral.max_position_embeddings, 131072);
  EXPECT_FALSE(mistral.qkv_bias || mistral.qk_norm || mistral.tie_word_embeddings);

  const ModelSpec qwen2 = spec_of(with(family("qwen2"), "num_key_value_heads", nullptr));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.o_bias || qwen2.mlp_bias || qwen2.qk_norm);
  EXPECT_TRUE(qwen2.layers.empty());  // use_sliding_window is off
  EXPECT_EQ(qwen2.max_position_embeddings, 32768);

  const ModelSpec qwen3 = spec_of(with(family("qwen3"), "num_key_value_heads", 4));
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_EQ(qwen3.head_dim, 128);
  EXPECT_EQ(
      spec_of(with(with(family("qwen3"), "num_key_value_heads", 4), "head_dim", nullptr)).head_dim,
      8);

  const ModelSpec smollm3 = spec_of(with(family("smollm3"), "num_hidden_layers", 5));
  EXPECT_TRUE(smollm3.tie_word_embeddings);
  EXPECT_EQ(smollm3.rope.theta, 2e6);
  EXPECT_EQ(smollm3.num_key_value_heads, 4);
  EXPECT_EQ(smollm3.layers, (std::vector<LayerSpec>{{}, {}, {}, {0, false}, {}}));
}

TEST(ModelSpec, WindowsByLayer) {
  const Json mistral = with(family("mistral"), "num_key_value_heads", 2);
  EXPECT_TRUE(spec_of(with(mistral, "sliding_window", nullptr)).layers.empty());
  EXPECT_EQ(spec_of(with(mistral, "sliding_window", 5)).layer(1).window, 5);

  const Json qwen =
      with(with(with(family("qwen3"), "num_key_value_heads", 4), "num_hidden_layers", 3),
           "use_sliding_window", true);
  EXPECT_TRUE(spec_of(qwen).layers.empty());  // from layer 28 on
  const Json late = with(with(qwen, "max_window_layers", 2), "sliding_window", 6);
  EXPECT_EQ(spec_of(late).layers, (std::vector<LayerSpec>{{}, {}, {6, true}}));
  const Json types = *Json::parse(R"(["sliding_attention","full_attention","full_attention"])");
  EXPECT_EQ(spec_of(with(late, "layer_types", types)).layers,
            (std::vector<LayerSpec>{{6, true}, {}, {}}));

  const Json nope = with(with(with(family("smollm3"), "use_sliding_window", true), "no_rope_layers",
                              *Json::parse("[1,0,0]")),
                         "sliding_window", 6);
  EXPECT_EQ(spec_of(nope).layers, (std::vector<LayerSpec>{{0, true}, {6, false}}));
}

TEST(ModelSpec, ScaledRope) {
  const auto rope = [](const char* text) {
    return spec_of(with(llama(), "rope_scaling", *Json::parse(text))).rope;
  };
  const RopeSpec linear = rope(R"({"type":"linear","factor":2.5})");
  EXPECT_EQ(linear.scaling, RopeScaling::kLinear);
  EXPECT_EQ(linear.factor, 2.5);
  EXPECT_EQ(rope(R"({"rope_type":"dynamic","factor":2.5})"), (RopeSpec{10000.0, 8}));
  const RopeSpec llama3 =
      rope(R"({"rope_type":"llama3","factor":8,"low_freq_factor":2,"high_freq_factor":3})");
  EXPECT_EQ(llama3.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(llama3.original_positions, 2048);  // max_position_embeddings
  EXPECT_EQ(llama3.high_freq_factor, 3);
  const RopeSpec yarn =
      rope(R"({"rope_type":"yarn","factor":4,"original_max_position_embeddings":512})");
  EXPECT_EQ(yarn.scaling, RopeScaling::kYarn);
  EXPECT_EQ(yarn.original_positions, 512);
  EXPECT_EQ(yarn.beta_fast, 32);
  EXPECT_TRUE(yarn.truncate);
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(4.0) + 1);
  EXPECT_DOUBLE_EQ(rope(R"({"rope_type":"yarn","factor":null,
      "original_max_position_embeddings":512})")
                       .factor,
                   4);
  EXPECT_DOUBLE_EQ(
      rope(R"({"rope_type":"yarn","factor":4,"mscale":0.5,"mscale_all_dim":2})").attention_factor,
      (0.05 * std::log(4.0) + 1) / (0.2 * std::log(4.0) + 1));
  EXPECT_EQ(rope(R"({"rope_type":"yarn","factor":4,"attention_factor":1.5})").attention_factor,
            1.5);
  // Written beside the object, it goes before what the object says.
  const Json outside = with(llama(), "original_max_position_embeddings", 64);
  EXPECT_EQ(
      spec_of(with(outside, "rope_scaling", *Json::parse(R"({"rope_type":"yarn","factor":4})")))
          .rope.original_positions,
      64);
}

TEST(ModelSpec, EndTokensComeFromTheGenerationConfigFirst) {
  const Json config = with(llama(), "eos_token_id", 7);
  EXPECT_EQ(spec_of(config).eos_token_ids, (std::vector<int64_t>{7}));
  const Json generation = *Json::parse(R"({"eos_token_id":[3,4,3],"bos_token_id":1})");
  const ModelSpec spec = spec_of(config, generation);
  EXPECT_EQ(spec.eos_token_ids, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(spec.bos_token_ids, (std::vector<int64_t>{1}));
  // A config class default of a larger model can never be produced.
  EXPECT_TRUE(spec_of(with(llama(), "eos_token_id", 128001)).eos_token_ids.empty());
}

TEST(ModelSpec, QuantMethodBitNetMeansInt8Activations) {
  const Json quantised =
      with(llama(), "quantization_config", Json::object({{"quant_method", "bitnet"}}));
  EXPECT_TRUE(spec_of(quantised).int8_activations);
}

TEST(ModelSpec, ReadsBackWhatItWrites) {
  for (const Json& config :
       {with(with(llama(), "head_dim", 6), "attention_bias", true), bitnet(),
        with(with(llama(), "hidden_act", "gelu_new"), "rope_theta", 123456.5)}) {
    const ModelSpec spec = spec_of(config, Json::object({{"eos_token_id", 5}}));
    EXPECT_EQ(spec_of(to_json(spec)), spec);
  }
}

TEST(ModelSpec, EveryArchitectureReadsBackWhatItWrites) {
  for (const support::NamedSpec& named : support::architectures()) {
    EXPECT_EQ(spec_of(to_json(named.spec)), named.spec) << named.name;
  }
}

TEST(ModelSpec, ReadsTheSample) {
  const auto config =
      read_json_file(std::string(TRILITH_SOURCE_DIR) + "/models/sample/config.json");
  ASSERT_TRUE(config.ok());
  const ModelSpec spec = spec_of(*config);
  EXPECT_EQ(spec.model_type, "llama");
  EXPECT_EQ(spec.kv_size() * 2, spec.q_size());
}

struct BadConfig {
  const char* what;
  Json config;
  ErrorKind kind;
  const char* says;
};

std::vector<BadConfig> bad_configs() {
  constexpr auto kDamaged = ErrorKind::kDamaged;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  const auto scaled = [](const char* type) {
    return Json::object({{"rope_type", type}, {"factor", 8.0}});
  };
  const auto rope = [](const char* text) { return *Json::parse(text); };
  const Json mistral = with(family("mistral"), "num_key_value_heads", 2);
  const Json qwen = with(family("qwen2"), "num_key_value_heads", 2);
  Json headless = llama();
  headless.as_object()->erase(headless.as_object()->begin() + 3);
  return {
      {"no config", Json(), kUnsupported, "config.json is missing"},
      {"no type", Json::object({{"vocab_size", 64}}), kUnsupported, "neither model_type"},
      {"other architecture", with(llama(), "model_type", "mamba"), kUnsupported, "mamba"},
      {"other head",
       with(llama(), "architectures", Json(Json::Array{"LlamaForTokenClassification"})),
       kUnsupported, "LlamaForTokenClassification"},
      {"type no string", with(llama(), "model_type", 3), kDamaged, "model_type"},
      {"missing size", headless, kDamaged, "'hidden_size' is missing"},
      {"size no number", with(llama(), "hidden_size", "32"), kDamaged, "hidden_size"},
      {"size fractional", with(llama(), "hidden_size", 32.5), kDamaged, "hidden_size"},
      {"negative size", with(llama(), "intermediate_size", -1), kDamaged, "intermediate_size"},
      {"absurd size", with(llama(), "hidden_size", int64_t{1} << 40), kDamaged, "hidden_size"},
      {"absurd vocabulary", with(llama(), "vocab_size", (1 << 24) + 1), kDamaged, "vocab_size"},
      {"no layers", with(llama(), "num_hidden_layers", 0), kDamaged, "num_hidden_layers"},
      {"absurd layers", with(llama(), "num_hidden_layers", 4097), kDamaged, "num_hidden_layers"},
      {"heads do not divide", with(llama(), "num_attention_heads", 5), kDamaged,
       "num_attention_heads"},
      {"kv heads do not divide", with(llama(), "num_key_value_heads", 3), kDamaged,
       "num_key_value_heads"},
      {"odd head_dim", with(llama(), "head_dim", 7), kDamaged, "head_dim"},
      {"absurd head_dim", with(llama(), "head_dim", 1 << 20), kDamaged, "head_dim"},
      {"BitNet head_dim", with(bitnet(), "head_dim", 8), kDamaged, "attn_sub_norm"},
      {"eps zero", with(llama(), "rms_norm_eps", 0), kDamaged, "rms_norm_eps"},
      {"eps no number", with(llama(), "rms_norm_eps", "1e-5"), kDamaged, "rms_norm_eps"},
      {"theta negative", with(llama(), "rope_theta", -1.0), kDamaged, "rope_theta"},
      {"longrope", with(llama(), "rope_scaling", scaled("longrope")), kUnsupported, "longrope"},
      {"llama3 without its factors", with(llama(), "rope_parameters", scaled("llama3")), kDamaged,
       "low_freq_factor"},
      {"older key", with(llama(), "rope_scaling", Json::object({{"type", "su"}})), kUnsupported,
       "su"},
      {"no factor", with(llama(), "rope_scaling", Json::object({{"type", "linear"}})), kDamaged,
       "factor"},
      {"factor below 1", with(llama(), "rope_scaling", rope(R"({"type":"linear","factor":0.5})")),
       kDamaged, "factor"},
      {"key of another kind",
       with(llama(), "rope_scaling", rope(R"({"type":"linear","factor":2,"beta_fast":3})")),
       kUnsupported, "beta_fast"},
      {"llama3 without room",
       with(llama(), "rope_scaling", rope(R"({"type":"llama3","factor":2,"low_freq_factor":4,
         "high_freq_factor":4})")),
       kDamaged, "high_freq_factor"},
      {"yarn turned round",
       with(llama(), "rope_scaling", rope(R"({"type":"yarn","factor":2,"beta_fast":1,
         "beta_slow":4})")),
       kDamaged, "beta_fast"},
      {"window no size", with(mistral, "sliding_window", 0), kDamaged, "sliding_window"},
      {"types of Mistral", with(mistral, "layer_types", *Json::parse("[]")), kUnsupported,
       "layer_types"},
      {"types too few", with(qwen, "layer_types", *Json::parse(R"(["full_attention"])")), kDamaged,
       "layer_types"},
      {"types unknown", with(qwen, "layer_types", *Json::parse(R"(["chunked_attention",""])")),
       kUnsupported, "chunked_attention"},
      {"window not in use",
       with(qwen, "layer_types", *Json::parse(R"(["sliding_attention","full_attention"])")),
       kDamaged, "sliding_window"},
      {"positions of too few layers",
       with(family("smollm3"), "no_rope_layers", *Json::parse("[1]")), kDamaged, "no_rope_layers"},
      {"positions no flag", with(family("smollm3"), "no_rope_layers", *Json::parse("[1,2]")),
       kDamaged, "no_rope_layers"},
      {"MLP bias of Qwen", with(qwen, "mlp_bias", true), kUnsupported, "mlp_bias"},
      {"default with a factor", with(llama(), "rope_scaling", scaled("default")), kUnsupported,
       "factor"},
      {"rope a layer type",
       with(llama(), "rope_parameters", Json::object({{"full_attention", scaled("default")}})),
       kUnsupported, "full_attention"},
      {"partial rope", with(llama(), "partial_rotary_factor", 0.5), kUnsupported, "partial_rotary"},
      {"rope no object", with(llama(), "rope_scaling", "linear"), kDamaged, "rope_scaling"},
      {"unknown activation", with(llama(), "hidden_act", "quick_gelu"), kUnsupported, "quick_gelu"},
      {"bias no boolean", with(llama(), "attention_bias", 1), kDamaged, "attention_bias"},
      {"BitNet mlp bias", with(bitnet(), "mlp_bias", true), kUnsupported, "mlp_bias"},
      {"eos no id", with(llama(), "eos_token_id", "</s>"), kDamaged, "eos_token_id"},
  };
}

TEST(ModelSpec, RefusesByName) {
  for (const BadConfig& bad : bad_configs()) {
    SCOPED_TRACE(bad.what);
    const auto spec = model_spec_from_config(bad.config, {});
    if (spec.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    EXPECT_EQ(spec.error().kind, bad.kind);
    EXPECT_NE(spec.error().to_string().find("config.json"), std::string::npos);
    EXPECT_NE(spec.error().to_string().find(bad.says), std::string::npos)
        << spec.error().to_string();
  }
}

}  // namespace
}  // namespace trilith::model
