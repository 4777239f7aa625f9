// parse_safetensors: what it reads, and one bad file for every check it makes.
#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "raw_file.h"

namespace trilith::checkpoint {
namespace {

TEST(SafetensorsReader, ReadsTensorsAndMetadata) {
  const std::string file = raw_file(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
      R"("a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},)"
      R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[8,8]},)"
      R"("one":{"dtype":"I8","shape":[],"data_offsets":[11,12]}}   )",
      12);
  const auto content = parse_safetensors(bytes_of(file), "f");
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(content->metadata.dump(), R"({"format":"pt"})");
  ASSERT_EQ(content->tensors.size(), 4U);
  EXPECT_EQ(content->tensors[0].name, "b");
  EXPECT_EQ(content->tensors[0].bytes[0], std::byte{8});
  EXPECT_EQ(content->tensors[1].dtype, DType::kF16);
  EXPECT_EQ(content->tensors[1].shape, (Shape{2, 2}));
  EXPECT_EQ(content->tensors[2].count(), 0U);
  EXPECT_EQ(content->tensors[3].count(), 1U);
}

TEST(SafetensorsReader, ReadsAFileWithoutTensors) {
  const auto content = parse_safetensors(bytes_of(raw_file("{}", 0)), "f");
  ASSERT_TRUE(content.ok());
  EXPECT_TRUE(content->tensors.empty());
  EXPECT_EQ(content->metadata, Json::object());
}

struct BadFile {
  const char* what;
  std::string file;
  ErrorKind kind;
  const char* says;         // part of the message
  const char* tensor = "";  // the tensor it must name
};

std::string with_length(uint64_t length, std::string_view rest) {
  std::string file = raw_file("", 0);
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  return file.append(rest);
}

// One tensor `a` whose entry reads `entry`, with `data_bytes` bytes behind the header.
std::string one(std::string_view entry, size_t data_bytes) {
  return raw_file(std::string(R"({"a":)").append(entry) + "}", data_bytes);
}

std::vector<BadFile> bad_files() {
  constexpr auto kDamaged = ErrorKind::kDamaged;
  constexpr auto kUnsupported = ErrorKind::kUnsupported;
  const std::string good = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  return {
      {"zero-length", "", kDamaged, "the file is empty"},
      {"shorter than the length field", "abc", kDamaged, "truncated"},
      {"header beyond the end", with_length(100, "{}"), kDamaged, "longer than the file"},
      {"absurd header length", with_length(~uint64_t{0}, "{}"), kDamaged, "absurd"},
      {"length above the limit", with_length(100'000'001, "{}"), kDamaged, "absurd"},
      {"empty header", raw_file("", 3), kDamaged, "no"},
      {"an array", raw_file("[]", 0), kDamaged, "not a JSON object"},
      {"header cut in the middle", raw_file(R"({"a":{"dty)", 0), kDamaged, "not valid JSON"},
      {"header not UTF-8", raw_file("{\"\xff\":1}", 0), kDamaged, "not valid JSON"},
      {"duplicate name", raw_file(R"({"a":)" + good + R"(,"a":)" + good + "}", 4), kDamaged,
       "'a' occurs twice"},
      {"duplicate field", one(R"({"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]})", 4),
       kDamaged, "'dtype' occurs twice"},
      {"entry no object", one("[1]", 0), kDamaged, "no object", "a"},
      {"no dtype", one(R"({"shape":[4],"data_offsets":[0,4]})", 4), kDamaged, "no dtype", "a"},
      {"wrong dtype", one(R"({"dtype":"Q7","shape":[4],"data_offsets":[0,4]})", 4), kDamaged,
       "unknown dtype", "a"},
      {"dtype not read", one(R"({"dtype":"F4","shape":[8],"data_offsets":[0,4]})", 4), kUnsupported,
       "F4", "a"},
      {"no shape", one(R"({"dtype":"U8","data_offsets":[0,4]})", 4), kDamaged, "no shape", "a"},
      {"negative dimension", one(R"({"dtype":"U8","shape":[-4],"data_offsets":[0,4]})", 4),
       kDamaged, "dimension", "a"},
      {"fractional dimension", one(R"({"dtype":"U8","shape":[4.0],"data_offsets":[0,4]})", 4),
       kDamaged, "dimension", "a"},
      {"overflowing shape",
       one(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,4]})", 4), kDamaged,
       "too many", "a"},
      {"absurd dimension",
       one(R"({"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,4]})", 4), kDamaged,
       "dimension", "a"},
      {"no offsets", one(R"({"dtype":"U8","shape":[4]})", 4), kDamaged, "data_offsets", "a"},
      {"three offsets", one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4,4]})", 4), kDamaged,
       "data_offsets", "a"},
      {"descending offsets", one(R"({"dtype":"U8","shape":[4],"data_offsets":[4,0]})", 4), kDamaged,
       "data_offsets", "a"},
      {"negative offset", one(R"({"dtype":"U8","shape":[4],"data_offsets":[-4,0]})", 4), kDamaged,
       "data_offsets", "a"},
      {"size against shape", one(R"({"dtype":"F32","shape":[4],"data_offsets":[0,4]})", 4),
       kDamaged, "do not match", "a"},
      {"truncated data", one(good, 3), kDamaged, "beyond the end", "a"},
      {"trailing bytes", one(good, 5), kDamaged, "behind the last tensor"},
      {"data without a tensor", raw_file("{}", 1), kDamaged, "behind the last tensor"},
      {"overlap",
       raw_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                7),
       kDamaged, "overlaps tensor 'a'", "b"},
      {"the same bytes twice",
       raw_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})",
                4),
       kDamaged, "overlaps", ""},
      {"gap",
       raw_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                9),
       kDamaged, "gap", "b"},
      {"gap at the start", one(R"({"dtype":"U8","shape":[3],"data_offsets":[1,4]})", 4), kDamaged,
       "gap", "a"},
      {"metadata no object", raw_file(R"({"__metadata__":7})", 0), kDamaged, "__metadata__"},
      {"metadata no string", raw_file(R"({"__metadata__":{"n":7}})", 0), kDamaged, "'n'"},
  };
}

TEST(SafetensorsReader, RefusesEachKindOfDamageByName) {
  for (const BadFile& bad : bad_files()) {
    SCOPED_TRACE(bad.what);
    const auto content = parse_safetensors(bytes_of(bad.file), "bad.safetensors");
    if (content.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    const Error& error = content.error();
    EXPECT_EQ(error.kind, bad.kind);
    EXPECT_EQ(exit_code(error.kind), 4);
    EXPECT_EQ(error.file, "bad.safetensors");
    EXPECT_NE(error.to_string().find(bad.says), std::string::npos) << error.to_string();
    if (*bad.tensor != '\0') {
      EXPECT_EQ(error.tensor, bad.tensor);
    }
  }
}

TEST(SafetensorsReader, SaysWhatOtherFilesAre) {
  const std::string lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
  const auto pointer = parse_safetensors(bytes_of(lfs), "f");
  ASSERT_FALSE(pointer.ok());
  EXPECT_NE(pointer.error().hint.find("git lfs pull"), std::string::npos);
  const auto gguf = parse_safetensors(bytes_of("GGUF\x03\0\0\0\0\0\0\0\0\0\0\0 padding"), "f");
  ASSERT_FALSE(gguf.ok());
}

}  // namespace
}  // namespace trilith::checkpoint
