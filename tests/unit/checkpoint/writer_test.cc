// SafetensorsWriter: what is written reads back equal, and nothing is left behind without finish().
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "checkpoint/safetensors.h"
#include "raw_file.h"
#include "support/temp_folder.h"

namespace trilith::checkpoint {
namespace {

TEST(SafetensorsWriter, WritesInPiecesWhatTheReaderReads) {
  const support::TempFolder folder;
  const std::string path = folder.file("x.safetensors");
  auto writer = SafetensorsWriter::create(path, Json::object({{"note", "é \"quoted\""}}));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->declare("wide", DType::kF32, {1, 2}).ok());
  ASSERT_TRUE(writer->declare("empty", DType::kF16, {0, 5}).ok());
  ASSERT_TRUE(writer->declare("narrow", DType::kU8, {3}).ok());
  ASSERT_TRUE(writer->write(bytes_of("abcde")).ok());  // 5 of 8 bytes
  ASSERT_TRUE(writer->write(bytes_of("fghij")).ok());  // and over the border
  ASSERT_TRUE(writer->write(bytes_of("k")).ok());
  EXPECT_EQ(folder.list().size(), 1U);  // the temporary file
  EXPECT_NE(folder.list().front(), "x.safetensors");
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(folder.list(), std::vector<std::string>{"x.safetensors"});

  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const auto content = parse_safetensors(file->bytes(), path);
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(content->metadata, Json::object({{"note", "é \"quoted\""}}));
  ASSERT_EQ(content->tensors.size(), 3U);
  EXPECT_EQ(content->tensors[0].name, "wide");
  EXPECT_EQ(content->tensors[1].shape, (Shape{0, 5}));
  EXPECT_EQ(content->tensors[2].bytes[2], std::byte{'k'});
  const auto offset = content->tensors[0].bytes.data() - file->bytes().data();
  EXPECT_EQ(offset % 8, 0);
}

TEST(SafetensorsWriter, LeavesNothingWithoutFinish) {
  const support::TempFolder folder;
  {
    auto writer = SafetensorsWriter::create(folder.file("x.safetensors"), {});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->declare("a", DType::kU8, {4}).ok());
    ASSERT_TRUE(writer->write(bytes_of("ab")).ok());
  }
  EXPECT_TRUE(folder.list().empty());
}

TEST(SafetensorsWriter, RefusesNamesTheFormatCannotHold) {
  const support::TempFolder folder;
  auto writer = SafetensorsWriter::create(folder.file("x.safetensors"), {});
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(writer->declare("a", DType::kU8, {4}).ok());
  const auto again = writer->declare("a", DType::kI8, {4});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().tensor, "a");
  EXPECT_FALSE(writer->declare("__metadata__", DType::kI8, {4}).ok());
  EXPECT_FALSE(writer->declare("b", DType::kF64, {int64_t{1} << 61}).ok());
}

TEST(SafetensorsWriter, AllAtOnceKeepsEveryTensorAligned) {
  const support::TempFolder folder;
  const std::string path = folder.file("x.safetensors");
  const std::vector<TensorToWrite> tensors = {
      {"codes", DType::kU8, {3}, bytes_of("abc")},
      {"scale", DType::kF32, {1}, bytes_of("defg")},
      {"half", DType::kF16, {1}, bytes_of("hi")},
  };
  ASSERT_TRUE(write_safetensors(path, tensors, {}).ok());
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const auto content = parse_safetensors(file->bytes(), path);
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  ASSERT_EQ(content->tensors.size(), 3U);
  for (const TensorView& tensor : content->tensors) {
    const auto offset = static_cast<size_t>(tensor.bytes.data() - file->bytes().data());
    EXPECT_EQ(offset % dtype_size(tensor.dtype), 0U) << tensor.name;
    const auto* source = &tensors[tensor.name == "codes" ? 0 : tensor.name == "scale" ? 1 : 2];
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, source->bytes)) << tensor.name;
  }
}

TEST(SafetensorsWriter, NamesTheFileItCannotCreate) {
  const auto writer = SafetensorsWriter::create("/no/such/folder/x.safetensors", {});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().kind, ErrorKind::kRuntime);
  EXPECT_EQ(writer.error().file, "/no/such/folder/x.safetensors");
}

}  // namespace
}  // namespace trilith::checkpoint
