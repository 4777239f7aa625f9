// tests/golden/packing/specs.json: the catalogue as decoders in other languages read it.
#include <gtest/gtest.h>

#include "base/json.h"
#include "packing/catalogue.h"

namespace trilith::packing {
namespace {

TEST(CatalogueJson, IsTheCatalogue) {
  const auto specs = read_json_file(TRILITH_SOURCE_DIR "/tests/golden/packing/specs.json");
  ASSERT_TRUE(specs.ok()) << specs.error().to_string();
  EXPECT_EQ(specs->as_object()->size(), catalogue().size());
  for (const CatalogueRow& row : catalogue()) {
    EXPECT_EQ((*specs)[row.name], to_json(row.spec)) << row.name;
  }
}

}  // namespace
}  // namespace trilith::packing
