// docs/FORMATS.md says what the code says: every named format, every word of the JSON vocabulary.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "packing/catalogue.h"
#include "packing/spec_names.h"

namespace trilith::packing {
namespace {

using ::testing::HasSubstr;

const std::string kPage = TRILITH_SOURCE_DIR "/docs/FORMATS.md";

std::string page() {
  auto text = read_text_file(kPage);
  return text.ok() ? *text : text.error().to_string();
}

TEST(FormatsPage, ListsTheCatalogue) {
  std::string table = "| name | format | spec | defined by |\n| --- | --- | --- | --- |\n";
  for (const CatalogueRow& row : catalogue()) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.title, describe(row.spec),
                         row.source);
  }
  EXPECT_THAT(page(), HasSubstr("<!-- catalogue -->\n\n" + table + "\n"))
      << "the table between `<!-- catalogue -->` and the next heading must be:\n"
      << table;
}

TEST(FormatsPage, ListsWhatIsNotRead) {
  std::string table = "| name | format | reading it needs |\n| --- | --- | --- |\n";
  for (const UnreadFormat& format : unread_formats()) {
    table += fmt::format("| `{}` | {} | {} |\n", format.name, format.title, format.needs);
    EXPECT_EQ(find_format(format.name), nullptr) << format.name;
    EXPECT_EQ(find_unread_format(format.name), &format);
  }
  EXPECT_EQ(find_unread_format("q4_0"), nullptr);
  EXPECT_THAT(page(), HasSubstr("<!-- unread -->\n\n" + table + "\n")) << table;
}

template <typename Words>
void expect_words(const std::string& text, const Words& words) {
  for (const auto& word : words) {
    EXPECT_THAT(text, HasSubstr(fmt::format("`{}`", word.name)));
  }
}

TEST(FormatsPage, ExplainsEveryWord) {
  const std::string text = page();
  expect_words(text, kSymbolWords);
  expect_words(text, kOrientationWords);
  expect_words(text, kAxisWords);
  expect_words(text, kSlotOrderWords);
  expect_words(text, kByteOrderWords);
  expect_words(text, kBitstreamWords);
  expect_words(text, kFieldWords);
  expect_words(text, kTileWords);
  expect_words(text, kPlaneWords);
  expect_words(text, kPadWords);
  expect_words(text, kScaleIndexWords);
  expect_words(text, kScaleOpWords);
  expect_words(text, kScaleLayoutWords);
  expect_words(text, kScalePlaceWords);
  expect_words(text, kGlobalScaleWords);
  expect_words(text, kSubLayoutWords);
  expect_words(text, kFloatZeroWords);
  expect_words(text, kRowMapWords);
  expect_words(text, kPreWords);
  expect_words(text, kPostWords);
  expect_words(text, kActivationWords);
  expect_words(text, kTableWords);
}

void expect_keys(const std::string& text, const Json& json) {
  if (const Json::Array* const list = json.as_array()) {
    for (const Json& entry : *list) expect_keys(text, entry);
  }
  if (const Json::Object* const object = json.as_object()) {
    for (const auto& [key, value] : *object) {
      EXPECT_TRUE(text.find("`" + key + "`") != std::string::npos ||
                  text.find("\"" + key + "\"") != std::string::npos)
          << key;
      expect_keys(text, value);
    }
  }
}

TEST(FormatsPage, ExplainsEveryKeyOfTheCatalogue) {
  for (const CatalogueRow& row : catalogue()) expect_keys(page(), to_json(row.spec));
}

}  // namespace
}  // namespace trilith::packing
