// The tiny checkpoints of the tests: what is written loads back exactly, under every packing and
// both namings, and every operation of the models matters.
#include "support/tiny_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "model/weights.h"
#include "packing/catalogue.h"
#include "reference/reference.h"
#include "support/random_matrix.h"
#include "support/temp_folder.h"

namespace trilith::support {
namespace {

model::Weights load(const TinyModel& tiny, int shards = 1) {
  const TempFolder folder;
  tiny.write(folder.path(), shards);
  tiny.write_sheet(folder.path());
  const auto checkpoint = checkpoint::Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.error().to_string();
  const auto spec =
      model::model_spec_from_config(checkpoint->config(), checkpoint->generation_config());
  EXPECT_TRUE(spec.ok()) << spec.error().to_string();
  EXPECT_EQ(*spec, tiny.spec);
  const auto sheet = model::read_format_sheet(folder.file("trilith_sheet.json"));
  EXPECT_TRUE(sheet.ok()) << sheet.error().to_string();
  auto weights = model::load_weights(*checkpoint, *spec, *sheet);
  EXPECT_TRUE(weights.ok()) << weights.error().to_string();
  return weights.ok() ? std::move(weights).value() : model::Weights();
}

std::vector<float> values_of(const model::Linear& linear) {
  if (linear.is_quantised()) return std::get<0>(linear.weight).dense();
  return std::get<1>(linear.weight).values;
}

void expect_the_truth(const TinyModel& tiny, const model::Weights& weights) {
  const auto truth = [&](const model::ModuleId& id) {
    return tiny.dense.at(model::module_name(id));
  };
  EXPECT_EQ(weights.embedding.values, truth({model::Role::kEmbedding, -1}));
  EXPECT_EQ(weights.final_norm, truth({model::Role::kFinalNorm, -1}));
  if (!weights.tied) {
    EXPECT_EQ(values_of(weights.lm_head), truth({model::Role::kLmHead, -1}));
  }
  for (const model::ModuleId& id : model::modules_of(tiny.spec)) {
    if (id.layer < 0) continue;
    const auto& layer = weights.layers.at(static_cast<size_t>(id.layer));
    if (model::is_linear(id.role)) {
      EXPECT_EQ(values_of(layer.linear(id.role)), truth(id)) << model::module_name(id);
      const auto bias = tiny.dense.find(model::module_name(id) + ".bias");
      EXPECT_EQ(layer.linear(id.role).bias,
                bias == tiny.dense.end() ? std::vector<float>() : bias->second);
    }
  }
  EXPECT_EQ(weights.layers[1].input_norm, truth({model::Role::kInputNorm, 1}));
  EXPECT_EQ(weights.layers[1].post_norm, truth({model::Role::kPostNorm, 1}));
  if (tiny.spec.attn_sub_norm) {
    EXPECT_EQ(weights.layers[1].attn_sub_norm, truth({model::Role::kAttnSubNorm, 1}));
    EXPECT_EQ(weights.layers[1].ffn_sub_norm, truth({model::Role::kFfnSubNorm, 1}));
  }
}

// Sizes that every row of the catalogue divides.
TinyModelOptions blocks_of_256() {
  TinyModelOptions options;
  options.vocab_size = 32;
  options.hidden_size = 256;
  options.intermediate_size = 256;
  options.head_dim = 64;
  return options;
}

TEST(TinyModel, EveryCatalogueFormatLoadsBackExactly) {
  TinyModelOptions options = blocks_of_256();
  for (const packing::CatalogueRow& row : packing::catalogue()) {
    if (!has_random_matrices(row.spec)) continue;
    SCOPED_TRACE(row.name);
    options.packing = row.spec;
    options.neutral_names = !options.neutral_names;
    const TinyModel tiny = make_tiny_model(options);
    const model::Weights weights = load(tiny);
    ASSERT_EQ(weights.layers.size(), 2U);
    expect_the_truth(tiny, weights);
    EXPECT_TRUE(weights.layers[0].q_proj.is_quantised());
  }
}

TEST(TinyModel, NamesAreNoPartOfTheModel) {
  TinyModelOptions options;
  options.packing = packing::find_format("k4-low-0pm")->spec;
  const std::string fingerprint = load(make_tiny_model(options)).fingerprint;
  options.neutral_names = true;
  EXPECT_EQ(load(make_tiny_model(options)).fingerprint, fingerprint);
  options.seed = 2;
  EXPECT_NE(load(make_tiny_model(options)).fingerprint, fingerprint);
}

TEST(TinyModel, DenseShardedBiasedAndTied) {
  TinyModelOptions options;
  options.attention_bias = options.mlp_bias = true;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    options.dense_dtype = dtype;
    const TinyModel tiny = make_tiny_model(options);
    const model::Weights weights = load(tiny, 3);
    expect_the_truth(tiny, weights);
    EXPECT_EQ(weights.embedding.stored_dtype, dtype);
    EXPECT_FALSE(weights.layers[0].q_proj.is_quantised());
  }
  options.tied = true;
  const model::Weights weights = load(make_tiny_model(options));
  EXPECT_TRUE(weights.tied);
  EXPECT_EQ(weights.lm_head.rows(), 0);
}

TEST(TinyModel, ThePackedHeadLoadsToo) {
  TinyModelOptions options = blocks_of_256();
  options.packing = packing::find_format("k4-low-0pm")->spec;
  options.packing_of[model::Role::kLmHead] = packing::find_format("int8-row")->spec;
  const TinyModel tiny = make_tiny_model(options);
  const model::Weights weights = load(tiny);
  EXPECT_TRUE(weights.lm_head.is_quantised());
  expect_the_truth(tiny, weights);
}

TEST(TinyModel, SeedsGiveOtherModelsAndTheSameSeedTheSame) {
  TinyModelOptions options;
  const TinyModel first = make_tiny_model(options);
  EXPECT_EQ(make_tiny_model(options).dense, first.dense);
  options.seed = 2;
  EXPECT_NE(make_tiny_model(options).dense, first.dense);
}

// ---- every operation matters ----

using reference::Matrix;

class Recorder : public model::TraceSink {
 public:
  void record(std::string_view point, int64_t rows, int64_t cols,
              std::span<const float> values) override {
    points[std::string(point)] = reference::to_matrix(rows, cols, values);
  }
  void record_integers(std::string_view, int64_t, int64_t, std::span<const int32_t>) override {}
  std::map<std::string, Matrix> points;
};

double root_mean_square(const Matrix& matrix) {
  double sum = 0;
  for (const double value : matrix.values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(matrix.values.size()));
}

struct Attention {
  double entropy_share = 0;  // mean entropy / ln T, over heads, of the last row
  double largest = 0;        // mean largest probability
};

Attention attention_of(const Matrix& q, const Matrix& k, const model::ModelSpec& spec) {
  Attention result;
  const int64_t length = q.rows;
  for (int64_t head = 0; head < spec.num_attention_heads; ++head) {
    const int64_t group = spec.num_attention_heads / spec.num_key_value_heads;
    std::vector<double> p;
    double sum = 0;
    for (int64_t t = 0; t < length; ++t) {
      double dot = 0;
      for (int64_t d = 0; d < spec.head_dim; ++d) {
        dot += q.row(length - 1)[head * spec.head_dim + d] *
               k.row(t)[head / group * spec.head_dim + d];
      }
      p.push_back(std::exp(dot / std::sqrt(static_cast<double>(spec.head_dim))));
      sum += p.back();
    }
    double entropy = 0;
    double largest = 0;
    for (const double weight : p) {
      entropy -= weight / sum * std::log(weight / sum);
      largest = std::max(largest, weight / sum);
    }
    const auto heads = static_cast<double>(spec.num_attention_heads);
    result.entropy_share += entropy / std::log(static_cast<double>(length)) / heads;
    result.largest += largest / heads;
  }
  return result;
}

TEST(TinyModel, EveryOperationMatters) {
  for (const char* family : {"llama", "bitnet"}) {
    for (const bool packed : {false, true}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} seed {}", family, packed ? "packed" : "dense", seed));
        TinyModelOptions options;
        options.model_type = family;
        options.seed = seed;
        options.num_hidden_layers = 4;
        options.tied = std::string(family) == "bitnet";
        if (packed) options.packing = packing::find_format("k4-low-0pm")->spec;
        const TinyModel tiny = make_tiny_model(options);
        const model::Weights weights = load(tiny);
        std::vector<int32_t> ids;
        Random random(seed, "ids");
        for (int i = 0; i < 48; ++i) ids.push_back(static_cast<int32_t>(random.below(96)));
        Recorder recorder;
        ThreadPool pool(1);
        const auto mode = tiny.spec.int8_activations ? reference::Mode::kA8 : reference::Mode::kF32;
        const auto forward = reference::Reference::create(weights, mode, pool);
        ASSERT_TRUE(forward.ok()) << forward.error().to_string();
        const auto logits = forward->run(ids, &recorder);
        ASSERT_TRUE(logits.ok()) << logits.error().to_string();
        auto& points = recorder.points;
        for (int64_t layer = 0; layer < 4; ++layer) {
          const auto at = [&](std::string_view point) -> const Matrix& {
            return points.at(model::layer_point(layer, point));
          };
          const Attention attention = attention_of(at("q_rope"), at("k_rope"), tiny.spec);
          EXPECT_LE(attention.entropy_share, 0.8) << layer;
          EXPECT_GE(attention.entropy_share, 0.15) << layer;
          EXPECT_LE(attention.largest, 0.8) << layer;
          EXPECT_GE(root_mean_square(at("o_proj")), 0.1 * root_mean_square(at("attn_residual")));
          EXPECT_GE(root_mean_square(at("down_proj")), 0.1 * root_mean_square(at("out")));
          EXPECT_LE(root_mean_square(at("o_proj")), 2 * root_mean_square(at("attn_residual")));
        }
        const double spread = root_mean_square(points.at("logits"));
        EXPECT_GE(spread, 1.0);
        EXPECT_LE(spread, 6.0);
      }
    }
  }
}

}  // namespace
}  // namespace trilith::support
