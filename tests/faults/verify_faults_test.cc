// verify on the sample: clean when nothing is wrong, and red at the right place for each fault put
// in by hand. The golden trace is one the reference writes here from the undamaged weights.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "packing/codec.h"
#include "reconcile/engine_target.h"
#include "reconcile/trace_run.h"
#include "reconcile/verify.h"
#include "reference/reference.h"
#include "sample_weights.h"

namespace trilith::reconcile {
namespace {

// Fourteen tokens and six: enough for a whole and a sampled prompt, short enough for a sanitizer.
const std::vector<int32_t> kIds = {323, 324, 259, 316, 12,  312, 267,
                                   259, 653, 418, 308, 639, 14,  340};
const std::vector<int32_t> kShortIds = {12, 500, 700, 1200, 33, 44};

class VerifyFaults : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = faults::open_sample();
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    checkpoint_ = std::make_unique<checkpoint::Checkpoint>(std::move(*opened));
    auto sheet = faults::sample_sheet(*checkpoint_);
    ASSERT_TRUE(sheet.ok());
    sheet_ = *sheet;
    auto weights = faults::load_sample(*checkpoint_, sheet_);
    ASSERT_TRUE(weights.ok()) << weights.error().to_string();
    weights_ = std::move(*weights);
    path_ = std::filesystem::temp_directory_path() /
            ("trilith_faults_" + std::to_string(getpid()) + ".safetensors");
    write_baseline({});
  }

  void TearDown() override { std::filesystem::remove(path_); }

  void write_baseline(const TraceOptions& options) {
    ThreadPool pool(2);
    const TraceOrigin origin{&weights_, &sheet_, checkpoint_->config(), "", "test"};
    const Status written = trace_reference(origin, {{"", kIds}, {"", kShortIds}},
                                           reference::Mode::kF32, options, pool, path_);
    ASSERT_TRUE(written.ok()) << written.error().to_string();
  }

  // The engine runs `weights` in `mode` with `fault`, against the baseline.
  Ledger verify_with(const model::Weights& weights, engine::EngineFault fault = {},
                     engine::Mode mode = engine::Mode::kA16) {
    auto trace = TraceFile::open(path_);
    EXPECT_TRUE(trace.ok()) << trace.error().to_string();
    engine::Options options;
    options.mode = mode;
    options.fault = fault;
    auto engine = engine::Engine::create(weights, options);
    EXPECT_TRUE(engine.ok()) << engine.error().to_string();
    VerifyOptions verify_options;
    verify_options.target_mode = *reference::mode_from_name(engine::mode_name(mode));
    auto ledger =
        verify(weights, *trace, engine_target(std::make_shared<engine::Engine>(std::move(*engine))),
               verify_options);
    EXPECT_TRUE(ledger.ok()) << ledger.error().to_string();
    return *ledger;
  }

  packing::QuantMatrix& codes_of(model::Weights& weights, int64_t layer, model::Role role) {
    return std::get<packing::QuantMatrix>(
        weights.layers[static_cast<size_t>(layer)].linear(role).weight);
  }

  // Loads the sample with another reading of one module.
  model::Weights read_as(const std::string& module,
                         const std::function<void(packing::PackingSpec&)>& change) {
    model::FormatSheet sheet = sheet_;
    for (model::ModuleFormat& format : sheet.modules) {
      if (format.name == module) change(format.spec);
    }
    auto weights = faults::load_sample(*checkpoint_, sheet);
    EXPECT_TRUE(weights.ok()) << weights.error().to_string();
    return std::move(*weights);
  }

  void expect_first(const Ledger& ledger, const std::string& point, Evidence evidence) {
    EXPECT_EQ(ledger.verdict, Verdict::kFault) << to_text(ledger);
    ASSERT_FALSE(ledger.faults.empty());
    EXPECT_EQ(ledger.faults.front().point, point) << to_text(ledger);
    EXPECT_EQ(ledger.faults.front().evidence, evidence);
    EXPECT_EQ(ledger.exit_code(false), 3);
  }

  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  model::FormatSheet sheet_;
  model::Weights weights_;
  std::string path_;
};

double worst_ratio(const Ledger& ledger) {
  double worst = 0;
  for (const PointReport& point : ledger.points) {
    if (point.weights) worst = std::max(worst, point.weights->ratio);
    if (point.target) worst = std::max(worst, point.target->ratio);
  }
  return worst;
}

TEST_F(VerifyFaults, CleanInEveryMode) {
  for (const auto mode : {engine::Mode::kA16, engine::Mode::kA8, engine::Mode::kF32}) {
    const Ledger ledger = verify_with(weights_, {}, mode);
    EXPECT_EQ(ledger.verdict, Verdict::kClean) << to_text(ledger);
    EXPECT_EQ(ledger.exit_code(true), 0);
    double free_running = 0;
    for (const PointReport& point : ledger.points) {
      free_running = std::max(free_running, point.floor_ratio);
    }
    RecordProperty("steps_" + std::string(engine::mode_name(mode)),
                   std::to_string(worst_ratio(ledger)));
    RecordProperty("free_" + std::string(engine::mode_name(mode)), std::to_string(free_running));
    std::printf("%s: worst step ratio %.3g, worst free-running ratio %.3g\n",
                std::string(engine::mode_name(mode)).c_str(), worst_ratio(ledger), free_running);
  }
}

TEST_F(VerifyFaults, SwappedCodeTable) {
  const auto damaged = read_as("model.layers.2.mlp.up_proj", [](packing::PackingSpec& spec) {
    spec.code_table = packing::CodeTable::list({0.0, -1.0, 1.0, std::nullopt});
  });
  expect_first(verify_with(damaged), "layers.2.up_proj", Evidence::kWeights);
}

TEST_F(VerifyFaults, CodeTwoReadAsZero) {
  const auto damaged = read_as("model.layers.4.self_attn.o_proj", [](packing::PackingSpec& spec) {
    spec.code_table = packing::CodeTable::list({0.0, 1.0, 0.0, std::nullopt});
  });
  expect_first(verify_with(damaged), "layers.4.o_proj", Evidence::kWeights);
}

TEST_F(VerifyFaults, ReversedFields) {
  const auto damaged = read_as("model.layers.1.self_attn.k_proj", [](packing::PackingSpec& spec) {
    spec.law.slot_order = packing::SlotOrder::kHighFirst;
  });
  expect_first(verify_with(damaged), "layers.1.k_proj", Evidence::kWeights);
}

TEST_F(VerifyFaults, OneWeightChanged) {
  for (const auto& [layer, role, point] :
       {std::tuple{int64_t{3}, model::Role::kQProj, "layers.3.q_proj"},
        std::tuple{int64_t{5}, model::Role::kDownProj, "layers.5.down_proj"},
        std::tuple{int64_t{0}, model::Role::kGateProj, "layers.0.gate_proj"}}) {
    model::Weights damaged = weights_;
    uint8_t& code = codes_of(damaged, layer, role).codes[1234];
    code = code == 1 ? 2 : 1;
    expect_first(verify_with(damaged), point, Evidence::kWeights);
  }
}

TEST_F(VerifyFaults, OneScaleChanged) {
  model::Weights damaged = weights_;
  codes_of(damaged, 2, model::Role::kVProj).scales[17] *= 1.01F;
  expect_first(verify_with(damaged), "layers.2.v_proj", Evidence::kWeights);
}

TEST_F(VerifyFaults, EngineFaultsWithWeightsUntouched) {
  using Kind = engine::EngineFault::Kind;
  for (const auto mode : {engine::Mode::kA16, engine::Mode::kA8, engine::Mode::kF32}) {
    const Ledger skipped =
        verify_with(weights_, {Kind::kSkipRows, 3, model::Role::kKProj, 8, 4, 1.0}, mode);
    expect_first(skipped, "layers.3.k_proj", Evidence::kImplementation);
    const Ledger turned = verify_with(weights_, {Kind::kRopeTheta, 1, {}, 0, 0, 1.07}, mode);
    expect_first(turned, "layers.1.q_rope", Evidence::kImplementation);
  }
  const Ledger scaled = verify_with(
      weights_, {Kind::kActivationScale, 4, model::Role::kUpProj, 0, 0, 1.01}, engine::Mode::kA8);
  expect_first(scaled, "layers.4.up_proj", Evidence::kImplementation);
}

TEST_F(VerifyFaults, FoundWithoutFingerprintsAndInASparseTrace) {
  TraceOptions sparse;
  sparse.full_prompts = 1;
  sparse.sampled_rows = 4;
  sparse.points = {"q_proj", "k_proj", "v_proj", "attn", "gate_proj", "up_proj", "out", "logits"};
  write_baseline(sparse);
  EXPECT_EQ(verify_with(weights_).verdict, Verdict::kClean) << to_text(verify_with(weights_));
  model::Weights damaged = weights_;
  damaged.fingerprint.clear();
  uint8_t& code = codes_of(damaged, 3, model::Role::kGateProj).codes[999];
  code = code == 1 ? 2 : 1;
  expect_first(verify_with(damaged), "layers.3.gate_proj", Evidence::kWeights);
  // o_proj itself is not in this trace: the stride that holds it ends at the gate and up linears.
  model::Weights deeper = weights_;
  uint8_t& other = codes_of(deeper, 3, model::Role::kOProj).codes[999];
  other = other == 1 ? 2 : 1;
  const Ledger ledger = verify_with(deeper);
  EXPECT_EQ(ledger.verdict, Verdict::kFault);
  EXPECT_EQ(ledger.faults.front().layer, 3);
}

TEST_F(VerifyFaults, OtherIdsAndNoCommonPointAreIncomparable) {
  auto trace = TraceFile::open(path_);
  ASSERT_TRUE(trace.ok());
  const TargetRun other_ids = [](int64_t, const std::vector<int32_t>&) -> Result<PromptValues> {
    return PromptValues{{1, 2, 3}, {0, 1, 2}, {}, {}};
  };
  const auto ledger = verify(weights_, *trace, other_ids, {});
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(ledger->verdict, Verdict::kIncomparable);
  const TargetRun nothing = [](int64_t, const std::vector<int32_t>& ids) -> Result<PromptValues> {
    Recorder recorder(ids);
    return recorder.take();
  };
  const auto empty = verify(weights_, *trace, nothing, {});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->verdict, Verdict::kIncomparable);
  EXPECT_EQ(empty->exit_code(false), 3);
}

// Passes a run on with the logits a hundredth too large.
class LargerLogits final : public model::TraceSink {
 public:
  explicit LargerLogits(TraceWriter& writer) : writer_(writer) {}
  void record(std::string_view point, int64_t rows, int64_t cols,
              std::span<const float> values) override {
    std::vector<float> changed(values.begin(), values.end());
    if (point == "logits") {
      for (float& value : changed) value *= 1.01F;
    }
    writer_.record(point, rows, cols, changed);
  }
  void record_integers(std::string_view, int64_t, int64_t, std::span<const int32_t>) override {}

 private:
  TraceWriter& writer_;
};

// The floor is what a correct run differs by; a baseline that is wrong may not measure itself.
TEST_F(VerifyFaults, AWrongBaselineDoesNotWidenItsOwnFloor) {
  ThreadPool pool(2);
  TraceWriter writer({});
  LargerLogits sink(writer);
  writer.begin_prompt(kShortIds);
  const auto reference = reference::Reference::create(weights_, reference::Mode::kF32, pool);
  ASSERT_TRUE(reference.ok() && reference->run(kShortIds, &sink).ok());
  ASSERT_TRUE(writer.write(path_, Json::object({{"mode", "f32"}})).ok());
  const Ledger ledger = verify_with(weights_, {}, engine::Mode::kF32);
  expect_first(ledger, "logits", Evidence::kWeights);
  EXPECT_EQ(ledger.points.back().point, "logits");
  EXPECT_GT(ledger.points.back().floor_ratio, 1000);
}

TEST_F(VerifyFaults, ANanIsAFault) {
  auto trace = TraceFile::open(path_);
  ASSERT_TRUE(trace.ok());
  const TargetRun with_nan = [&](int64_t prompt,
                                 const std::vector<int32_t>&) -> Result<PromptValues> {
    PromptValues values = read_prompt(*trace, prompt);
    values.floats["layers.2.out"].values[5] = std::numeric_limits<float>::quiet_NaN();
    return values;
  };
  VerifyOptions options;
  options.target_mode = reference::Mode::kF32;
  const auto ledger = verify(weights_, *trace, with_nan, options);
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(ledger->verdict, Verdict::kFault);
  EXPECT_EQ(ledger->faults.front().point, "layers.2.out");
  EXPECT_GT(ledger->nonfinite, 0);
}

}  // namespace
}  // namespace trilith::reconcile
