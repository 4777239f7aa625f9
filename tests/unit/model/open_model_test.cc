// open_model: which of the possible sources decides about the format, and the tokenizer beside it.
#include "model/open_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/mapped_file.h"
#include "base/output_file.h"
#include "packing/catalogue.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace trilith::model {
namespace {

using support::make_tiny_model;
using support::TempFolder;
using support::TinyModel;
using support::TinyModelOptions;

TinyModel packed() {
  TinyModelOptions options;
  options.packing = packing::find_format("k4-low-0pm")->spec;
  return make_tiny_model(options);
}

// The same bytes under a code table that is wrong: loads, but is another model.
FormatSheet swapped(FormatSheet sheet) {
  for (auto& module : sheet.modules) {
    module.spec.code_table = packing::CodeTable::list({0.0, -1.0, 1.0, std::nullopt});
  }
  return sheet;
}

TEST(OpenModel, TheSheetNamedComesFirst) {
  const TempFolder folder;
  const TempFolder elsewhere;
  const TinyModel tiny = packed();
  tiny.write(folder.path());
  tiny.write_sheet(folder.path());
  const auto beside = open_model(folder.path());
  ASSERT_TRUE(beside.ok()) << beside.error().to_string();
  EXPECT_EQ(beside->origin, SheetOrigin::kBeside);
  const std::string other = elsewhere.write("other.json", to_json(swapped(tiny.sheet)).dump());
  const auto named = open_model(folder.path(), {.sheet = other, .inspect = {}, .load = {}});
  ASSERT_TRUE(named.ok()) << named.error().to_string();
  EXPECT_EQ(named->origin, SheetOrigin::kNamed);
  EXPECT_NE(named->weights.fingerprint, beside->weights.fingerprint);
}

TEST(OpenModel, TheAnnouncedFormatNeedsNoSheet) {
  const TempFolder folder;
  TinyModelOptions options;
  options.model_type = "bitnet";
  options.tied = true;
  options.packing = packing::find_format("hf-bitnet")->spec;
  options.quantization_config =
      Json::object({{"quant_method", "bitnet"}, {"linear_class", "autobitlinear"}});
  const TinyModel tiny = make_tiny_model(options);
  tiny.write(folder.path(), 2);
  const auto announced = open_model(folder.path());
  ASSERT_TRUE(announced.ok()) << announced.error().to_string();
  EXPECT_EQ(announced->origin, SheetOrigin::kAnnounced);
  EXPECT_TRUE(announced->spec.int8_activations);
  tiny.write_sheet(folder.path());
  const auto by_sheet = open_model(folder.path());
  ASSERT_TRUE(by_sheet.ok());
  EXPECT_EQ(by_sheet->weights.fingerprint, announced->weights.fingerprint);
}

TEST(OpenModel, AnAnnouncedFormatThatDoesNotFitTheBytesIsRefused) {
  const TempFolder folder;
  TinyModelOptions options;
  options.packing = packing::find_format("k4-low-0pm")->spec;  // codes along K, scale a row
  options.quantization_config = Json::object({{"quant_method", "bitnet"}});
  make_tiny_model(options).write(folder.path());
  const auto model = open_model(folder.path());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(model.error().tensor, "model.layers.0.mlp.down_proj.weight");
}

TEST(OpenModel, InspectIsAskedLastAndOnlyThen) {
  const TempFolder folder;
  const TinyModel tiny = packed();
  tiny.write(folder.path());
  const auto refused = open_model(folder.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kAmbiguous);
  int asked = 0;
  OpenOptions options;
  options.inspect = [&](const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec) {
    ++asked;
    EXPECT_EQ(spec, tiny.spec);
    EXPECT_FALSE(checkpoint.tensors().empty());
    FormatSheet sheet = tiny.sheet;
    sheet.activation = "dynamic-token";
    return Result<FormatSheet>(sheet);
  };
  const auto model = open_model(folder.path(), options);
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->origin, SheetOrigin::kInspected);
  EXPECT_TRUE(model->spec.int8_activations);
  EXPECT_TRUE(model->weights.spec.int8_activations);
  EXPECT_EQ(asked, 1);
  tiny.write_sheet(folder.path());
  EXPECT_TRUE(open_model(folder.path(), options).ok());
  EXPECT_EQ(asked, 1);
}

TEST(OpenModel, BringsTheTokenizerWhenThereIsOne) {
  const TempFolder folder;
  const TinyModel tiny = packed();
  tiny.write(folder.path());
  tiny.write_sheet(folder.path());
  const auto without = open_model(folder.path());
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->tokenizer.has_value());
  EXPECT_TRUE(without->tokenizer_sha256.empty());
  std::filesystem::copy_file(std::string(TRILITH_SOURCE_DIR) + "/models/sample/tokenizer.json",
                             folder.file("tokenizer.json"));
  ::testing::internal::CaptureStderr();
  const auto with = open_model(folder.path());
  const std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(with.ok()) << with.error().to_string();
  ASSERT_TRUE(with->tokenizer.has_value());
  EXPECT_EQ(with->tokenizer_sha256.size(), 64U);
  EXPECT_NE(log.find("the model 96"), std::string::npos) << log;  // 2048 ids for 96 embeddings
}

TEST(OpenModel, NamesTheConfigThatIsWrong) {
  const TempFolder folder;
  TinyModel tiny = packed();
  tiny.config.set("hidden_act", "mish");
  tiny.write(folder.path());
  const auto model = open_model(folder.path());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().file, folder.file("config.json"));
  std::filesystem::remove(folder.file("config.json"));
  const auto none = open_model(folder.path());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace trilith::model
