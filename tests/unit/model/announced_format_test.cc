// announced_format: what checkpoints say about themselves, believed only as far as it goes.
#include "model/announced_format.h"

#include <gtest/gtest.h>

#include "packing/catalogue.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace trilith::model {
namespace {

using support::make_tiny_model;
using support::TempFolder;
using support::TinyModel;
using support::TinyModelOptions;

Result<FormatSheet> announced(const TinyModel& tiny) {
  const TempFolder folder;
  tiny.write(folder.path());
  TRILITH_ASSIGN_OR_RETURN(const auto checkpoint, checkpoint::Checkpoint::open(folder.path()));
  return announced_format(checkpoint, tiny.spec);
}

TinyModelOptions bitnet(const char* format, const char* linear_class) {
  TinyModelOptions options;
  options.model_type = "bitnet";
  options.tied = true;
  options.packing = packing::find_format(format)->spec;
  options.quantization_config =
      Json::object({{"quant_method", "bitnet"}, {"quantization_mode", "offline"}});
  if (linear_class != nullptr) options.quantization_config.set("linear_class", linear_class);
  return options;
}

TEST(AnnouncedFormat, DenseCheckpointsHaveNoPackedModules) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    TinyModelOptions options;
    options.dense_dtype = dtype;
    const auto sheet = announced(make_tiny_model(options));
    ASSERT_TRUE(sheet.ok()) << sheet.error().to_string();
    EXPECT_TRUE(sheet->modules.empty());
  }
}

TEST(AnnouncedFormat, BitNetIsTheSheetOfItsWriter) {
  for (const auto& [format, linear_class] :
       {std::pair("hf-bitnet", "autobitlinear"), std::pair("hf-bitnet-inverse", "bitlinear"),
        std::pair("hf-bitnet-inverse", static_cast<const char*>(nullptr))}) {
    const TinyModel tiny = make_tiny_model(bitnet(format, linear_class));
    const auto sheet = announced(tiny);
    ASSERT_TRUE(sheet.ok()) << sheet.error().to_string();
    ASSERT_EQ(sheet->modules.size(), tiny.sheet.modules.size());
    for (size_t i = 0; i < sheet->modules.size(); ++i) {
      EXPECT_EQ(sheet->modules[i].id, tiny.sheet.modules[i].id);
      EXPECT_EQ(sheet->modules[i].stored, tiny.sheet.modules[i].stored);
      EXPECT_EQ(sheet->modules[i].spec, tiny.sheet.modules[i].spec);
      EXPECT_EQ(sheet->modules[i].rows, tiny.sheet.modules[i].rows);
    }
    EXPECT_EQ(sheet->activation, Json("dynamic-token"));
  }
}

TEST(AnnouncedFormat, ModulesNotConvertedStayPlain) {
  TinyModelOptions options = bitnet("hf-bitnet", "autobitlinear");
  options.tied = false;  // a dense lm_head
  const auto sheet = announced(make_tiny_model(options));
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->find({Role::kLmHead, -1}), nullptr);
  EXPECT_EQ(sheet->modules.size(), 14U);
}

struct Unannounced {
  const char* what;
  TinyModel tiny;
  ErrorKind kind;
  const char* says;
};

std::vector<Unannounced> unannounced() {
  TinyModelOptions packed;
  packed.packing = packing::find_format("k4-low-0pm")->spec;
  TinyModelOptions neutral;
  neutral.neutral_names = true;
  TinyModelOptions gptq = packed;
  gptq.quantization_config = Json::object({{"quant_method", "gptq"}, {"bits", 4}});
  const auto changed = [](const char* key, Json value) {
    TinyModelOptions options = bitnet("hf-bitnet", "autobitlinear");
    options.quantization_config.set(key, std::move(value));
    return make_tiny_model(options);
  };
  TinyModel no_scale = make_tiny_model(bitnet("hf-bitnet", "autobitlinear"));
  no_scale.remove("model.layers.1.mlp.up_proj.weight_scale");
  TinyModel other_codes = make_tiny_model(bitnet("hf-bitnet", "autobitlinear"));
  other_codes.find("model.layers.1.mlp.up_proj.weight").dtype = DType::kI8;
  constexpr auto kAmbiguous = ErrorKind::kAmbiguous;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  return {
      {"packed, nothing announced", make_tiny_model(packed), kAmbiguous, "inspect"},
      {"neutral names", make_tiny_model(neutral), kAmbiguous, "no such tensor"},
      {"another method", make_tiny_model(gptq), ErrorKind::kDamaged, "gptq"},
      {"masters", changed("quantization_mode", "online"), kUnsupported, "quantization_mode"},
      {"norm before the linear", changed("use_rms_norm", true), kUnsupported, "use_rms_norm"},
      {"another linear class", changed("linear_class", "sublinear"), kUnsupported, "sublinear"},
      {"linear class no string", changed("linear_class", 7), kUnsupported, "7"},
      {"scale missing", no_scale, ErrorKind::kDamaged, "no weight_scale"},
      {"codes of another type", other_codes, ErrorKind::kDamaged, "I8 with BF16 weight_scale"},
  };
}

TEST(AnnouncedFormat, RefusesByName) {
  for (const Unannounced& bad : unannounced()) {
    SCOPED_TRACE(bad.what);
    const auto sheet = announced(bad.tiny);
    if (sheet.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    EXPECT_EQ(sheet.error().kind, bad.kind) << sheet.error().to_string();
    EXPECT_NE(sheet.error().to_string().find(bad.says), std::string::npos)
        << sheet.error().to_string();
  }
}

}  // namespace
}  // namespace trilith::model
