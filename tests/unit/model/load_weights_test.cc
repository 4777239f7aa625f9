// load_weights: every kind of bad checkpoint is refused, naming the tensor and the right kind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/half.h"
#include "base/output_file.h"
#include "model/announced_format.h"
#include "model/weights.h"
#include "packing/catalogue.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace trilith::model {
namespace {

using support::make_tiny_model;
using support::TempFolder;
using support::TinyModel;
using support::TinyModelOptions;

constexpr const char* kQ = "model.layers.1.self_attn.q_proj";

TinyModelOptions packed() {
  TinyModelOptions options;
  options.packing = packing::find_format("k4-low-0pm")->spec;
  return options;
}

Result<Weights> load(const TinyModel& tiny, const LoadOptions& options = {}) {
  const TempFolder folder;
  tiny.write(folder.path());
  TRILITH_ASSIGN_OR_RETURN(const auto checkpoint, checkpoint::Checkpoint::open(folder.path()));
  TRILITH_ASSIGN_OR_RETURN(const auto spec, model_spec_from_config(checkpoint.config(), {}));
  return load_weights(checkpoint, spec, tiny.sheet, options);
}

// Writes a float of the tensor's dtype at `index`.
void poke(TinyModel& tiny, const std::string& name, size_t index, float value) {
  auto& tensor = tiny.find(name);
  if (tensor.dtype == DType::kF32) {
    std::memcpy(tensor.bytes.data() + index * 4, &value, 4);
    return;
  }
  const uint16_t half = tensor.dtype == DType::kF16 ? f16_from_f32(value) : bf16_from_f32(value);
  std::memcpy(tensor.bytes.data() + index * 2, &half, 2);
}

struct BadModel {
  const char* what;
  std::function<void(TinyModel&)> breaks;
  ErrorKind kind;
  const char* says;
  std::string tensor;
  TinyModelOptions options = packed();
};

std::vector<BadModel> bad_models() {
  constexpr auto kDamaged = ErrorKind::kDamaged;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  const std::string codes = std::string(kQ) + ".weight";
  const std::string scale = std::string(kQ) + ".weight_scale";
  const std::string norm = "model.layers.0.input_layernorm.weight";
  const std::string embedding = "model.embed_tokens.weight";
  TinyModelOptions tied = packed();
  tied.tied = true;
  TinyModelOptions biased = packed();
  biased.attention_bias = true;
  const auto nan = std::nanf("");
  return {
      {"codes missing", [=](TinyModel& m) { m.remove(codes); }, kDamaged, "lacks this tensor",
       codes},
      {"scale missing", [=](TinyModel& m) { m.remove(scale); }, kDamaged, "lacks this tensor",
       scale},
      {"norm missing", [=](TinyModel& m) { m.remove(norm); }, kDamaged, "lacks this tensor", norm},
      {"embedding and norm missing",
       [=](TinyModel& m) {
         m.remove(embedding);
         m.remove(norm);
       },
       kDamaged, "and 1 others", embedding},
      {"untied head missing", [](TinyModel& m) { m.remove("lm_head.weight"); }, kDamaged,
       "lacks this tensor", "lm_head.weight"},
      {"announced bias missing", [](TinyModel& m) { m.remove(std::string(kQ) + ".bias"); },
       kDamaged, "lacks this tensor", std::string(kQ) + ".bias", biased},
      {"bias not announced", [](TinyModel& m) { m.config.set("attention_bias", false); }, kDamaged,
       "config.json does not announce", "model.layers.0.self_attn.q_proj.bias", biased},
      {"vocabulary", [](TinyModel& m) { m.config.set("vocab_size", 97); }, kDamaged, "vocab_size",
       embedding},
      {"heads", [](TinyModel& m) { m.config.set("num_key_value_heads", 4); }, kDamaged,
       "[64, 64] for model.layers.0.self_attn.k_proj", "model.layers.0.self_attn.k_proj"},
      {"layers", [](TinyModel& m) { m.config.set("num_hidden_layers", 3); }, kDamaged,
       "lacks this tensor", "model.layers.2.input_layernorm.weight"},
      {"hidden size of a dense model", [](TinyModel& m) { m.config.set("intermediate_size", 95); },
       kDamaged, "[95, 64] (intermediate_size, hidden_size)", "model.layers.0.mlp.gate_proj.weight",
       TinyModelOptions()},
      {"codes cut",
       [=](TinyModel& m) {
         m.find(codes).shape[0] -= 1;
         m.find(codes).bytes.resize(m.find(codes).bytes.size() - 16);
       },
       kDamaged, "shape", codes},
      {"codes empty",
       [=](TinyModel& m) {
         m.find(codes).shape = {0, 16};
         m.find(codes).bytes.clear();
       },
       kDamaged, "shape", codes},
      {"codes of another type", [=](TinyModel& m) { m.find(codes).dtype = DType::kI8; }, kDamaged,
       "type", codes},
      {"scale of another type", [=](TinyModel& m) { m.find(scale).dtype = DType::kBF16; }, kDamaged,
       "type", scale},
      {"scale NaN", [=](TinyModel& m) { poke(m, scale, 5, nan); }, kDamaged, "index 5", scale},
      {"scale infinite", [=](TinyModel& m) { poke(m, scale, 0, INFINITY); }, kDamaged, "not finite",
       scale},
      {"norm NaN", [=](TinyModel& m) { poke(m, norm, 7, nan); }, kDamaged, "nan at index 7", norm},
      {"embedding infinite", [=](TinyModel& m) { poke(m, embedding, 2 * 64 + 3, -INFINITY); },
       kDamaged, "-inf at row 2, column 3", embedding},
      {"bias NaN", [](TinyModel& m) { poke(m, std::string(kQ) + ".bias", 1, std::nanf("")); },
       kDamaged, "index 1", std::string(kQ) + ".bias", biased},
      {"unused code", [=](TinyModel& m) { m.find(codes).bytes[17] |= std::byte{0x0c}; }, kDamaged,
       "code 3 at row 1, column 5", codes},
      {"a hole in the file",
       [=](TinyModel& m) { std::ranges::fill(m.find(codes).bytes, std::byte{0}); }, kDamaged,
       "one and the same code", codes},
      {"scales of zero",
       [=](TinyModel& m) { std::ranges::fill(m.find(scale).bytes, std::byte{0}); }, kDamaged,
       "vanish", scale},
      {"scales out of range",
       [=](TinyModel& m) {
         for (auto& module : m.sheet.modules) {
           if (module.name == kQ) module.spec.scale.factor = 1e9;
         }
       },
       kDamaged, "absurdly large", scale},
      {"scales that vanish",
       [=](TinyModel& m) {
         for (auto& module : m.sheet.modules) {
           if (module.name == kQ) module.spec.scale.factor = 1e-9;
         }
       },
       kDamaged, "vanish", scale},
      {"norm of another type", [=](TinyModel& m) { m.find(norm).dtype = DType::kI16; },
       kUnsupported, "I16", norm},
      {"norm of another rank",
       [=](TinyModel& m) {
         m.find(norm).shape = {1, 64};
       },
       kDamaged, "hidden_size", norm},
      {"another head beside a tied embedding",
       [](TinyModel& m) {
         auto head = m.find("model.embed_tokens.weight");
         head.name = "lm_head.weight";
         head.bytes[0] ^= std::byte{1};
         m.tensors.push_back(head);
       },
       ErrorKind::kAmbiguous, "ties the head", "lm_head.weight", tied},
      {"a packed norm",
       [=](TinyModel& m) {
         m.sheet.modules[0].id = {Role::kInputNorm, 0};
       },
       kUnsupported, "only linears", "model.layers.0.self_attn.q_proj"},
  };
}

TEST(LoadWeights, RefusesEachKindOfDamageByName) {
  for (const BadModel& bad : bad_models()) {
    SCOPED_TRACE(bad.what);
    TinyModel tiny = make_tiny_model(bad.options);
    bad.breaks(tiny);
    const auto weights = load(tiny);
    if (weights.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    const Error& error = weights.error();
    EXPECT_EQ(error.kind, bad.kind) << error.to_string();
    EXPECT_EQ(exit_code(error.kind), 4);
    EXPECT_EQ(error.tensor, bad.tensor) << error.to_string();
    EXPECT_FALSE(error.file.empty()) << error.to_string();
    EXPECT_NE(error.to_string().find(bad.says), std::string::npos) << error.to_string();
    EXPECT_EQ(error.to_string().find('\n'), std::string::npos);
  }
}

TEST(LoadWeights, TheSameHeadBesideATiedEmbeddingIsHarmless) {
  TinyModelOptions options = packed();
  options.tied = true;
  TinyModel tiny = make_tiny_model(options);
  auto head = tiny.find("model.embed_tokens.weight");
  head.name = "lm_head.weight";
  tiny.tensors.push_back(head);
  EXPECT_TRUE(load(tiny).ok());
}

TEST(LoadWeights, ABiasOfZerosIsHarmless) {
  TinyModel tiny = make_tiny_model(packed());
  tiny.tensors.push_back({std::string(kQ) + ".bias", DType::kF16, {64}, {}});
  tiny.tensors.back().bytes.resize(128);
  EXPECT_TRUE(load(tiny).ok());
}

TEST(LoadWeights, LeftOversDoNotStopIt) {
  TinyModel tiny = make_tiny_model(packed());
  for (const char* name : {"model.layers.0.self_attn.rotary_emb.inv_freq", "something.else"}) {
    tiny.tensors.push_back({name, DType::kU8, {1}, std::vector<std::byte>(1)});
  }
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(load(tiny).ok());
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("1 tensor(s) belong to no part of the model: something.else"),
            std::string::npos)
      << log;
}

TEST(LoadWeights, UnusedCodesBecomeZeroOnRequestOnly) {
  TinyModel tiny = make_tiny_model(packed());
  tiny.find(std::string(kQ) + ".weight").bytes[17] |= std::byte{0x0c};
  EXPECT_FALSE(load(tiny).ok());
  const auto weights = load(tiny, {.unused_as_zero = true});
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(std::get<0>(weights->layers[1].q_proj.weight).value(1, 5), 0);
}

TEST(LoadWeights, OneFingerprintWhateverTheThreadsAndAnotherForEveryChange) {
  TinyModel tiny = make_tiny_model(packed());
  const auto one = load(tiny, {.threads = 1});
  const auto three = load(tiny, {.threads = 3});
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->fingerprint, three->fingerprint);
  EXPECT_EQ(one->fingerprint.size(), 32U);
  const std::string norm = "model.layers.0.input_layernorm.weight";
  poke(tiny, norm, 3, 0.75F);
  const auto changed = load(tiny);
  ASSERT_TRUE(changed.ok());
  EXPECT_NE(changed->fingerprint, one->fingerprint);
  EXPECT_NE(changed->module_fingerprints.at("model.layers.0.input_layernorm"),
            one->module_fingerprints.at("model.layers.0.input_layernorm"));
  EXPECT_EQ(changed->module_fingerprints.at(kQ), one->module_fingerprints.at(kQ));
}

TEST(LoadWeights, FingerprintsCanBeLeftOut) {
  const TinyModel tiny = make_tiny_model(packed());
  const auto with = load(tiny);
  const auto without = load(tiny, {.fingerprints = false});
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_TRUE(without->fingerprint.empty() && without->module_fingerprints.empty());
  EXPECT_EQ(std::get<0>(without->layers[1].q_proj.weight).codes,
            std::get<0>(with->layers[1].q_proj.weight).codes);
}

TEST(LoadWeights, OneModelInTwoPackingsHasOneFingerprint) {
  TinyModelOptions options = packed();
  const TinyModel narrow = make_tiny_model(options);
  TinyModel wide = narrow;
  for (auto& module : wide.sheet.modules) {
    auto& codes = wide.find(module.stored.at("codes"));
    std::vector<std::byte> bytes;
    for (const std::byte byte : codes.bytes) {
      for (int field = 0; field < 4; ++field) bytes.push_back((byte >> (2 * field)) & std::byte{3});
    }
    codes.bytes = std::move(bytes);
    codes.shape[1] *= 4;
    module.spec = packing::find_format("u8-0pm")->spec;
  }
  const auto first = load(narrow);
  const auto second = load(wide);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->fingerprint, second->fingerprint);
  EXPECT_EQ(second->bytes.packed, 4 * first->bytes.packed);
}

TEST(LoadWeights, CountsTheBytesByKind) {
  TinyModelOptions options = packed();
  options.attention_bias = true;
  const auto weights = load(make_tiny_model(options));
  ASSERT_TRUE(weights.ok());
  const auto& bytes = weights->bytes;
  const uint64_t linear = 64 * 64 * 2 + 64 * 32 * 2 + 96 * 64 * 3;  // of a layer
  EXPECT_EQ(bytes.packed, 2 * linear / 4);
  EXPECT_EQ(bytes.scales, 2 * 2 * (64 + 32 + 32 + 64 + 96 + 96 + 64));
  EXPECT_EQ(bytes.dense, 2 * 2 * (64 + 32 + 32 + 64));  // biases
  EXPECT_EQ(bytes.embedding, 96 * 64 * 2);
  EXPECT_EQ(bytes.head, 96 * 64 * 2);
  EXPECT_EQ(bytes.norms, (2 * 2 + 1) * 64 * 2);
}

TEST(LoadWeights, LoadsTheSampleUnderItsTrueFormat) {
  const auto checkpoint =
      checkpoint::Checkpoint::open(std::string(TRILITH_SOURCE_DIR) + "/models/sample");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().to_string();
  const auto spec = model_spec_from_config(checkpoint->config(), checkpoint->generation_config());
  ASSERT_TRUE(spec.ok()) << spec.error().to_string();
  FormatSheet sheet;
  for (const ModuleId& id : modules_of(*spec)) {
    const std::string name = module_name(id);
    if (checkpoint->find(name + ".weight_ternary") == nullptr) continue;
    const MatrixShape shape = module_shape(*spec, id.role);
    sheet.modules.push_back(
        {name,
         id,
         shape.rows,
         shape.cols,
         {{"codes", name + ".weight_ternary"}, {"scale", name + ".weight_scale"}},
         packing::find_format("k4-low-0pm")->spec});
  }
  EXPECT_EQ(sheet.modules.size(), static_cast<size_t>(7 * spec->num_hidden_layers));
  const auto weights = load_weights(*checkpoint, *spec, sheet);
  ASSERT_TRUE(weights.ok()) << weights.error().to_string();
  // Every byte of the file's data is some part of the model.
  uint64_t data = 0;
  for (const TensorView& tensor : checkpoint->tensors()) data += tensor.bytes.size();
  const auto& bytes = weights->bytes;
  EXPECT_EQ(bytes.packed + bytes.scales + bytes.dense + bytes.embedding + bytes.head + bytes.norms,
            data);
  // Without its sheet the file says nothing about its packing.
  const auto announced = announced_format(*checkpoint, *spec);
  ASSERT_FALSE(announced.ok());
  EXPECT_EQ(announced.error().kind, ErrorKind::kAmbiguous);
}

}  // namespace
}  // namespace trilith::model
