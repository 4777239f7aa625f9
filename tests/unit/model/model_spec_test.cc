// model_spec_from_config: the defaults of transformers' config classes, every refusal by name.
#include "model/model_spec.h"

#include <gtest/gtest.h>

#include <filesystem>

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
      {"linear rope", with(llama(), "rope_scaling", scaled("linear")), kUnsupported, "linear"},
      {"llama3 rope", with(llama(), "rope_parameters", scaled("llama3")), kUnsupported, "llama3"},
      {"older key", with(llama(), "rope_scaling", Json::object({{"type", "dynamic"}})),
       kUnsupported, "dynamic"},
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
