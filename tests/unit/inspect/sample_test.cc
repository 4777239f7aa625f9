// The shipped sample against what its trainer is known to have written, and its committed sheet
// against what inspect says today.
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "inspect/inspection.h"
#include "model/roles.h"

namespace trilith::inspect {
namespace {

const std::string kSample = TRILITH_SOURCE_DIR "/models/sample";

const Sheet& sample_sheet() {
  static const Sheet kSheet = [] {
    const auto checkpoint = checkpoint::Checkpoint::open(kSample);
    TRILITH_CHECK(checkpoint.ok());
    auto sheet = inspect_checkpoint(*checkpoint, {});
    TRILITH_CHECK(sheet.ok());
    return std::move(sheet).value();
  }();
  return kSheet;
}

TEST(Sample, EveryModuleIsReadAsItWasWritten) {
  const auto truth = read_json_file(TRILITH_SOURCE_DIR "/tests/unit/inspect/sample_truth.json");
  ASSERT_TRUE(truth.ok()) << truth.error().to_string();
  const auto config = read_json_file(kSample + "/config.json");
  ASSERT_TRUE(config.ok());
  const auto spec = model::model_spec_from_config(*config, Json());
  ASSERT_TRUE(spec.ok());
  const Sheet& sheet = sample_sheet();
  EXPECT_EQ(sheet.verdict, Verdict::kIdentified) << sheet.reason;
  size_t expected = 0;
  for (const auto& [role_text, unused] : *(*truth)["modules"].as_object()) {
    const model::Role role = *model::role_from_name(role_text);
    const model::MatrixShape shape = model::module_shape(*spec, role);
    for (int64_t layer = 0; layer < spec->num_hidden_layers; ++layer, ++expected) {
      const std::string name = model::module_name({role, layer});
      SCOPED_TRACE(name);
      const auto found =
          std::find_if(sheet.modules.begin(), sheet.modules.end(),
                       [&](const ModuleSheet& module) { return module.name == name; });
      ASSERT_NE(found, sheet.modules.end());
      EXPECT_EQ(packing::to_json(found->spec).dump(), (*truth)["spec"].dump());
      EXPECT_EQ(found->rows, shape.rows);
      EXPECT_EQ(found->cols, shape.cols);
      EXPECT_EQ(found->id, (model::ModuleId{role, layer}));
      EXPECT_EQ(found->unused_count, 0);
      for (const StoredInfo& part : found->stored) {
        EXPECT_EQ(part.name, name + "." + *(*truth)["tensors"][part.role].as_string());
      }
    }
  }
  EXPECT_EQ(sheet.modules.size(), expected);
}

TEST(Sample, TheCommittedSheetIsCurrent) {
  const auto committed = read_text_file(kSample + "/SHEET.md");
  ASSERT_TRUE(committed.ok()) << committed.error().to_string();
  EXPECT_EQ(*committed, to_markdown(sample_sheet())) << "after a change that is meant: make sheet";
}

TEST(Sample, WithoutTheProbeTheSignStaysOpenAndTheOrderDoesNot) {
  const auto checkpoint = checkpoint::Checkpoint::open(kSample);
  ASSERT_TRUE(checkpoint.ok());
  InspectOptions options;
  options.probe = false;
  const auto sheet = inspect_checkpoint(*checkpoint, options);
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->verdict, Verdict::kAmbiguous);
  EXPECT_EQ(sheet->families[0].spec.law, sample_sheet().families[0].spec.law);
  bool sign = false;
  for (const Alternative& alternative : sheet->families[0].alternatives) {
    EXPECT_EQ(alternative.spec.law, sheet->families[0].spec.law);
    sign = sign || alternative.differs == "code_table = [0,-1,1,null]";
  }
  EXPECT_TRUE(sign);
}

TEST(Sample, AnAssumptionSettlesWhatIsOpenAndIsRecorded) {
  const auto checkpoint = checkpoint::Checkpoint::open(kSample);
  ASSERT_TRUE(checkpoint.ok());
  InspectOptions options;
  options.probe = false;
  options.assume = {{"code_table", "[0,-1,1,null]"}, {"scale.op", "mul"}};
  const auto sheet = inspect_checkpoint(*checkpoint, options);
  ASSERT_TRUE(sheet.ok());
  EXPECT_EQ(sheet->verdict, Verdict::kIdentified) << sheet->reason;
  EXPECT_EQ(sheet->assumptions.size(), 2U);
  EXPECT_EQ(packing::to_json(sheet->families[0].spec)["code_table"].dump(), "[0,-1,1,null]");
  options.assume = {{"law.slot_order", "sideways"}};
  const auto refused = inspect_checkpoint(*checkpoint, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace trilith::inspect
