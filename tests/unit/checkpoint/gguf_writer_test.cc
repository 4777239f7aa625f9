// What the writer writes, the reader reads.
#include "checkpoint/gguf_writer.h"

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "checkpoint/gguf.h"
#include "support/temp_folder.h"

namespace trilith::checkpoint {
namespace {

using support::TempFolder;

std::vector<std::byte> counting(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

TEST(GgufWriter, KeysAndTensorsComeBack) {
  const TempFolder folder;
  const std::string path = folder.file("model.gguf");
  auto writer = GgufWriter::create(path);
  ASSERT_TRUE(writer.ok());
  writer->set_string("general.architecture", "llama");
  writer->set_u32("llama.block_count", 4000000000U);
  writer->set_f32("llama.rope.freq_base", 1e4F);
  writer->set_bool("tokenizer.ggml.add_bos_token", true);
  writer->set_strings("tokenizer.ggml.tokens", {"a", "", "Ġb"});
  writer->set_integers("tokenizer.ggml.token_type", {1, -3, 6});
  const std::vector<std::byte> floats = counting(4 * 6);  // no multiple of the alignment
  const std::vector<std::byte> blocks = counting(66 * 2);
  ASSERT_TRUE(writer->declare("dense", 0, {2, 3}, floats.size()).ok());
  ASSERT_TRUE(writer->declare("blocks", 35, {2, 256}, blocks.size()).ok());
  EXPECT_FALSE(writer->declare("dense", 0, {1}, 4).ok());
  EXPECT_FALSE(writer->declare(std::string(64, 'x'), 0, {1}, 4).ok());
  ASSERT_TRUE(writer->write(floats).ok());
  ASSERT_TRUE(writer->write(blocks).ok());
  ASSERT_TRUE(writer->finish().ok());

  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const auto content = parse_gguf(file->bytes(), path);
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(content->version, 3U);
  EXPECT_EQ(content->metadata["general.architecture"], Json("llama"));
  EXPECT_EQ(content->metadata["llama.block_count"], Json(int64_t{4000000000}));
  EXPECT_EQ(content->metadata["llama.rope.freq_base"], Json(10000.0));
  EXPECT_EQ(content->metadata["tokenizer.ggml.add_bos_token"], Json(true));
  ASSERT_EQ(content->arrays.size(), 2U);
  EXPECT_EQ(*content->arrays[0].strings(), (std::vector<std::string_view>{"a", "", "Ġb"}));
  EXPECT_EQ(*content->arrays[1].integers(), (std::vector<int64_t>{1, -3, 6}));
  ASSERT_EQ(content->tensors.size(), 2U);
  EXPECT_EQ(content->tensors[0].shape, (Shape{2, 3}));
  EXPECT_TRUE(std::ranges::equal(content->tensors[0].bytes, floats));
  EXPECT_EQ(content->claims[1].shape, (Shape{2, 256}));
  EXPECT_TRUE(std::ranges::equal(content->tensors[1].bytes, blocks));
}

TEST(GgufWriter, NothingAppearsWithoutFinish) {
  const TempFolder folder;
  {
    auto writer = GgufWriter::create(folder.file("model.gguf"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->declare("dense", 0, {1}, 4).ok());
    ASSERT_TRUE(writer->write(counting(4)).ok());
  }
  EXPECT_TRUE(folder.list().empty());
}

}  // namespace
}  // namespace trilith::checkpoint
