#include "inspect/module_sample.h"

#include <gtest/gtest.h>

namespace trilith::inspect {
namespace {

using model::Role;

// Two kinds of modules, 100 and 300 weights, in each of five layers.
std::vector<PackedModule> model(bool named) {
  std::vector<PackedModule> modules;
  for (int64_t layer = 0; layer < 5; ++layer) {
    for (const auto& [role, rows] : {std::pair{Role::kQProj, 10}, std::pair{Role::kUpProj, 30}}) {
      PackedModule module;
      module.rows = rows;
      module.cols = 10;
      if (named) module.id = model::ModuleId{role, layer};
      modules.push_back(module);
    }
  }
  return modules;
}

TEST(ModuleSample, ASmallFamilyIsWeighedWhole) {
  EXPECT_EQ(sample_modules(model(true), 2000).size(), 10U);
  EXPECT_EQ(sample_modules(model(false), 2000).size(), 10U);
}

TEST(ModuleSample, WholeLayersFromBothEnds) {
  EXPECT_EQ(sample_modules(model(true), 1999), (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(sample_modules(model(true), 1201), (std::vector<size_t>{0, 1, 2, 3, 6, 7, 8, 9}));
  EXPECT_EQ(sample_modules(model(true), 800), (std::vector<size_t>{0, 1, 8, 9}));
  EXPECT_EQ(sample_modules(model(true), 1), (std::vector<size_t>{0, 1}));
}

TEST(ModuleSample, EveryShapeWhereLayersAreNotKnown) {
  EXPECT_EQ(sample_modules(model(false), 1), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(sample_modules(model(false), 401), (std::vector<size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace trilith::inspect
