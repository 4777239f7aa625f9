// Whole models in folders: tiny checkpoints through every format that takes them, and the places
// where converting must leave nothing behind.
#include "transform/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "packing/catalogue.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"
#include "transform/verify.h"

namespace trilith::transform {
namespace {

namespace fs = std::filesystem;
using support::TempFolder;
using support::TinyModelOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Extents that every block size and kernel word divides.
TinyModelOptions options_of(std::string_view format) {
  TinyModelOptions options;
  options.hidden_size = 256;
  options.intermediate_size = 512;
  options.head_dim = 64;
  options.num_hidden_layers = 1;
  if (!format.empty()) options.packing = packing::find_format(format)->spec;
  return options;
}

ConvertRequest request(const std::string& from, const std::string& to, std::string_view format) {
  ConvertRequest request;
  request.input = from;
  request.output = to;
  request.target = *find_target(format);
  request.verify = true;
  return request;
}

std::string fingerprint(const std::string& path) {
  auto model = model::open_model(path);
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? model->weights.fingerprint : "";
}

class Convert : public testing::Test {
 protected:
  void write_model(std::string_view format) {
    fs::create_directory(folder_.file("in"));
    const support::TinyModel model = support::make_tiny_model(options_of(format));
    model.write(folder_.file("in"));
    if (!format.empty()) model.write_sheet(folder_.file("in"));
  }
  Result<ConvertReport> run(std::string_view format, const std::string& out = "out") {
    return convert(request(folder_.file("in"), folder_.file(out), format), {});
  }
  TempFolder folder_;
};

TEST_F(Convert, EveryFormatThatTakesTheModelGivesTheSameFingerprint) {
  write_model("k4-low-0pm");
  const std::string before = fingerprint(folder_.file("in"));
  int converted = 0;
  for (const Target& target : targets()) {
    const auto report = run(target.name, target.name);
    ASSERT_TRUE(report.ok()) << target.name << ": " << report.error().to_string();
    EXPECT_EQ(fs::exists(folder_.file(target.name)), !report->refused()) << target.name;
    if (report->refused()) continue;
    ++converted;
    EXPECT_TRUE(report->verified_weights) << target.name;
    if (target.ggml == nullptr) {
      EXPECT_EQ(fingerprint(folder_.file(target.name)), before) << target.name;
    }
  }
  EXPECT_GE(converted, 50);
}

// `run` takes no GGUF file, so what is in one is known by what comes out again.
TEST_F(Convert, ThroughGgufAndBack) {
  write_model("k4-low-0pm");
  const std::string before = fingerprint(folder_.file("in"));
  int converted = 0;
  for (const Target& target : targets()) {
    if (target.ggml == nullptr) continue;
    const std::string file = folder_.file(target.name + ".gguf");
    const auto report = convert(request(folder_.file("in"), file, target.name), {});
    ASSERT_TRUE(report.ok()) << target.name << ": " << report.error().to_string();
    if (report->refused()) continue;
    ++converted;
    const std::string back = folder_.file(target.name + "-back");
    const auto again = convert(request(file, back, "f32"), {});
    ASSERT_TRUE(again.ok()) << target.name << ": " << again.error().to_string();
    ASSERT_FALSE(again->refused()) << again->refusal().to_string();
    EXPECT_EQ(fingerprint(back), before) << target.name;
  }
  EXPECT_GE(converted, 9);
}

TEST_F(Convert, GgufRefusesRowsThatItsBlocksDoNotDivide) {
  TinyModelOptions options = options_of("k4-low-0pm");
  options.intermediate_size = 384;
  fs::create_directory(folder_.file("in"));
  const support::TinyModel model = support::make_tiny_model(options);
  model.write(folder_.file("in"));
  model.write_sheet(folder_.file("in"));
  const auto report = run("gguf-tq2_0", "out.gguf");
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  ASSERT_TRUE(report->refused());
  EXPECT_THAT(report->refusal().to_string(), HasSubstr("384 inputs"));
  EXPECT_THAT(folder_.list(), ElementsAre("in"));
}

TEST_F(Convert, BackAgainGivesTheSameBytes) {
  write_model("k4-low-0pm");
  ASSERT_TRUE(run("gptq-4bit").ok());
  const auto back = convert(request(folder_.file("out"), folder_.file("back"), "k4-low-0pm"), {});
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  const auto before = checkpoint::Checkpoint::open(folder_.file("in"));
  const auto after = checkpoint::Checkpoint::open(folder_.file("back"));
  ASSERT_EQ(before->tensors().size(), after->tensors().size());
  for (const TensorView& tensor : before->tensors()) {
    std::string name = tensor.name;
    const TensorView* same = after->find(name);
    if (same == nullptr) continue;  // the tiny model names scales otherwise
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, same->bytes)) << name;
  }
  EXPECT_EQ(fingerprint(folder_.file("back")), fingerprint(folder_.file("in")));
}

TEST_F(Convert, DenseTernaryIsPackedAndOtherDenseIsRefused) {
  write_model("float-ternary");
  fs::remove(folder_.file("in/trilith_sheet.json"));  // now it is a dense model
  const auto packed = run("k4-low-0pm");
  ASSERT_TRUE(packed.ok()) << packed.error().to_string();
  EXPECT_EQ(packed->from, "dense");
  EXPECT_EQ(packed->packed_modules, 7);
  EXPECT_EQ(fingerprint(folder_.file("out")), fingerprint(folder_.file("in")));
}

TEST_F(Convert, DenseWeightsOfManyValuesAreRefused) {
  write_model("");
  const auto report = run("k4-low-0pm");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(folder_.list(), ElementsAre("in"));
}

TEST_F(Convert, RefusalSaysWhatWouldBeLostAndWritesNothing) {
  write_model("int8-row");
  const auto report = run("gptq-2bit");
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  ASSERT_TRUE(report->refused());
  EXPECT_THAT(report->refusal().to_string(), HasSubstr("levels"));
  EXPECT_EQ(report->to_json()["verdict"], Json("refused"));
  EXPECT_THAT(folder_.list(), ElementsAre("in"));
}

TEST_F(Convert, VerifyFindsOneChangedByte) {
  write_model("k4-low-0pm");
  ASSERT_TRUE(run("int8-row").ok());
  const std::string path = folder_.file("out/model.safetensors");
  const auto source = open_source(folder_.file("in"), {});
  ASSERT_TRUE(source.ok());
  const auto none = [] { return Status(); };
  const auto before = verify_conversion(*source, folder_.file("out"), {}, none);
  ASSERT_TRUE(before.ok()) << before.error().to_string();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);  // the last norm or weight in the file
  const auto last = static_cast<char>(file.get());
  file.seekp(-1, std::ios::end);
  file.put(static_cast<char>(last ^ 1));
  file.close();
  const auto after = verify_conversion(*source, folder_.file("out"), {}, none);
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.error().kind, ErrorKind::kVerification) << after.error().to_string();
}

TEST_F(Convert, WritesShardsWithAnIndex) {
  write_model("k4-low-0pm");
  ConvertRequest small = request(folder_.file("in"), folder_.file("out"), "int8-row");
  small.shard_bytes = 200000;
  const auto report = convert(small, {});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_GT(report->files, 2U);
  EXPECT_TRUE(fs::exists(folder_.file("out/model.safetensors.index.json")));
  EXPECT_EQ(fingerprint(folder_.file("out")), fingerprint(folder_.file("in")));
}

TEST_F(Convert, CarriesSideFilesAndTensorsThatBelongToNoPart) {
  write_model("");
  folder_.write("in/tokenizer_config.json", "{}");
  folder_.write("in/quantize_config.json", "{}");  // of the old packing
  const auto report = run("f32");
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_THAT(report->side_files, ElementsAre("tokenizer_config.json"));
  EXPECT_FALSE(fs::exists(folder_.file("out/quantize_config.json")));
  EXPECT_EQ((*read_json_file(folder_.file("out/config.json")))["torch_dtype"], Json("float32"));
}

TEST_F(Convert, ExistingOutputIsLeftAlone) {
  write_model("k4-low-0pm");
  folder_.write("out", "precious");
  const auto report = run("int8-row");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(folder_.list(), ElementsAre("in", "out"));
}

TEST_F(Convert, OutputInsideTheInputIsRefused) {
  write_model("k4-low-0pm");
  const auto report = run("int8-row", "in/out");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(report.error().message, HasSubstr("inside"));
}

// Stopped after every step there is: nothing is left, and the last stop comes too late.
TEST_F(Convert, InterruptLeavesNothing) {
  write_model("k4-low-0pm");
  int steps = 0;
  ASSERT_TRUE(convert(request(folder_.file("in"), folder_.file("all"), "int8-row"), [&](double) {
                return ++steps > 0;
              }).ok());
  ASSERT_GT(steps, 20);
  fs::remove_all(folder_.file("all"));
  for (int stop = 1; stop <= steps; ++stop) {
    int step = 0;
    const auto report = convert(request(folder_.file("in"), folder_.file("out"), "int8-row"),
                                [&](double) { return ++step < stop; });
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().kind, ErrorKind::kInterrupted);
    EXPECT_THAT(folder_.list(), ElementsAre("in"));
  }
}

TEST_F(Convert, DamagedInputLeavesNothing) {
  write_model("k4-low-0pm");
  const std::string path = folder_.file("in/model.safetensors");
  fs::resize_file(path, fs::file_size(path) - 5);
  const auto report = run("int8-row");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kDamaged);
  EXPECT_THAT(folder_.list(), ElementsAre("in"));
}

}  // namespace
}  // namespace trilith::transform
