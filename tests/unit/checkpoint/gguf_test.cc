// parse_gguf: what it reads, how type ids that several projects use are told apart by sizes, and
// what it refuses.
#include "checkpoint/gguf.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/half.h"
#include "raw_file.h"
#include "raw_gguf.h"

namespace trilith::checkpoint {
namespace {

RawGguf small_file() {
  RawGguf file;
  file.text("general.architecture", "llama");
  file.number("llama.block_count", 2);
  file.array("tokenizer.ggml.tokens", 8, 2, gguf_text("a") + gguf_text("bc"));
  file.tensor("f", {3, 2}, 0, 24);
  file.tensor("h", {4}, 30, 8);
  file.tensor("q", {64, 5}, 2, 5 * 36);
  return file;
}

TEST(GgufReader, ReadsKeysAndTensors) {
  const std::string bytes = small_file().bytes();
  const auto content = parse_gguf(bytes_of(bytes), "f.gguf");
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(content->version, 3U);
  EXPECT_EQ(content->metadata["general.architecture"], Json("llama"));
  EXPECT_EQ(content->metadata["llama.block_count"], Json(2));
  EXPECT_EQ(content->metadata["tokenizer.ggml.tokens"].dump(), R"(["a","bc"])");
  ASSERT_EQ(content->arrays.size(), 1U);
  EXPECT_EQ(content->arrays[0].strings(), (std::vector<std::string_view>{"a", "bc"}));
  EXPECT_EQ(content->arrays[0].integers(), std::nullopt);
  EXPECT_EQ(content->arrays[0].numbers(), std::nullopt);

  ASSERT_EQ(content->tensors.size(), 3U);
  EXPECT_EQ(content->tensors[0].dtype, DType::kF32);
  EXPECT_EQ(content->tensors[0].shape, (Shape{2, 3}));  // slowest first
  EXPECT_EQ(content->tensors[0].bytes[1], std::byte{7});
  EXPECT_EQ(content->tensors[1].dtype, DType::kBF16);
  EXPECT_EQ(content->tensors[1].bytes[0], std::byte{32 * 7});
  EXPECT_EQ(content->tensors[2].dtype, DType::kU8);
  EXPECT_EQ(content->tensors[2].shape, (Shape{5, 36}));
  EXPECT_EQ(content->claims[2].shape, (Shape{5, 64}));
  ASSERT_NE(content->claims[2].type(), nullptr);
  EXPECT_EQ(content->claims[2].type()->name, "Q4_0");
}

TEST(GgufReader, ReadsEveryTypeOfValue) {
  RawGguf file;
  file.version = 2;
  file.key("u8", 0, little_endian<uint8_t>(200));
  file.key("i8", 1, little_endian<int8_t>(-3));
  file.key("u16", 2, little_endian<uint16_t>(60000));
  file.key("i16", 3, little_endian<int16_t>(-300));
  file.key("u32", 4, little_endian<uint32_t>(4000000000U));
  file.key("i32", 5, little_endian<int32_t>(-70000));
  file.key("f32", 6, little_endian(0.5F));
  file.key("bool", 7, "\x01");
  file.key("u64", 10, little_endian(uint64_t{1} << 40));
  file.key("i64", 11, little_endian<int64_t>(-(int64_t{1} << 40)));
  file.key("f64", 12, little_endian(0.25));
  file.array("nested", 9, 2,
             little_endian<uint32_t>(5) + little_endian<uint64_t>(1) + little_endian<int32_t>(7) +
                 little_endian<uint32_t>(8) + little_endian<uint64_t>(1) + gguf_text("x"));
  file.array("long", 3, 300, std::string(600, '\xff'));
  file.array("floats", 6, 2, little_endian(1.5F) + little_endian(-2.0F));
  const std::string bytes = file.bytes();
  const auto content = parse_gguf(bytes_of(bytes), "f.gguf");
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  EXPECT_EQ(content->metadata.dump(),
            R"({"u8":200,"i8":-3,"u16":60000,"i16":-300,"u32":4000000000,"i32":-70000,"f32":0.5,)"
            R"("bool":true,"u64":1099511627776,"i64":-1099511627776,"f64":0.25,)"
            R"("nested":[[7],["x"]],"floats":[1.5,-2.0]})");
  // Long arrays stay where they lie; arrays of arrays are in the metadata only.
  ASSERT_EQ(content->arrays.size(), 2U);
  EXPECT_EQ(content->arrays[0].key, "long");
  EXPECT_EQ(content->arrays[0].integers(), std::vector<int64_t>(300, -1));
  EXPECT_EQ(content->arrays[1].numbers(), (std::vector<double>{1.5, -2.0}));
  EXPECT_EQ(content->arrays[1].integers(), std::nullopt);
}

struct IdCase {
  uint32_t id;
  uint64_t k;
  uint64_t n;
  uint64_t bytes;
  const char* name;
  Shape shape;
};

// Sizes by hand from the block layouts.
TEST(GgufReader, TellsOneIdsTypesApartBySize) {
  const IdCase cases[] = {
      {30, 64, 3, 384, "BF16", {3, 64}},
      {30, 64, 3, 48 + 32, "I2", {80}},
      {36, 128, 4, 4 * 72, "IQ4_NL_4_4", {4, 72}},
      {36, 128, 4, 128 + 32, "I2_S", {160}},
      {37, 128, 4, 512, "I8_S", {4, 128}},
      {38, 128, 4, 128 + 32, "TL1", {160}},
      {39, 64, 4, 4 * 34, "MXFP4", {4, 34}},
      {39, 512, 96, 5120 + 6144 + 32, "TL2", {5120 + 6144 + 32}},
      {40, 64, 5, 5 * 36, "NVFP4", {5, 36}},
      {40, 64, 5, 5 * 12, "Q1_0_G32", {5, 12}},
      {41, 512, 2, 2 * 72, "Q1_0", {2, 72}},
      {41, 512, 2, 2 * 130, "Q2_0C", {2, 130}},
      {42, 256, 3, 3 * 72, "Q2_0", {3, 72}},
      {42, 256, 3, 3 * 68, "Q2_0_G128", {3, 68}},
      {42, 256, 3, 3 * 42, "STQ1_0", {3, 42}},
      {134, 128, 6, 6 * 28, "IQ1_BN", {6, 28}},
      {135, 128, 6, 6 * 36, "IQ2_BN", {6, 36}},
      {142, 768, 3, 3 * 204, "PQ2_0", {3, 204}},
      {142, 768, 3, 3 * 196, "IQ2_TN", {3, 196}},
      {142, 768, 3, 3 * 198, "IQ2_TN", {3, 198}},
      {143, 512, 3, 3 * 112, "PTQ1_0", {3, 112}},
      {143, 1024, 3, 3 * 210, "IQ1_TN", {3, 210}},
  };
  for (const IdCase& c : cases) {
    SCOPED_TRACE(std::string(c.name) + " " + std::to_string(c.bytes));
    RawGguf file;
    file.alignment = 8;
    file.number("general.alignment", 8);
    file.tensor("w", {c.k, c.n}, c.id, c.bytes);
    file.tensor("next", {1}, 0, 4);
    const std::string bytes = file.bytes();
    const auto content = parse_gguf(bytes_of(bytes), "f.gguf");
    ASSERT_TRUE(content.ok()) << content.error().to_string();
    const GgmlClaim& claim = content->claims[0];
    ASSERT_NE(claim.type(), nullptr) << claim.problem;
    EXPECT_EQ(claim.type()->name, c.name);
    EXPECT_EQ(content->tensors[0].shape, c.shape);
    EXPECT_EQ(content->tensors[0].bytes.size(), c.bytes);
  }
}

TEST(GgufReader, OneMeaningOfAnIdHoldsForTheWholeFile) {
  // 34 bytes for 128, twice, is also a float32 and 64 bytes for 256.
  RawGguf file;
  file.tensor("a", {256, 32}, 142, 32 * 68);
  const std::string alone = file.bytes();
  auto content = parse_gguf(bytes_of(alone), "f.gguf");
  ASSERT_TRUE(content.ok());
  EXPECT_EQ(content->claims[0].type(), nullptr);
  ASSERT_EQ(content->claims[0].types.size(), 2U);
  EXPECT_EQ(content->claims[0].types[0]->name, "PQ2_0");
  EXPECT_EQ(content->claims[0].types[1]->name, "IQ2_TN");
  EXPECT_EQ(content->tensors[0].shape, (Shape{32, 68}));  // they agree in size

  file.tensor("b", {512, 32}, 142, 32 * 132);
  const std::string both = file.bytes();
  content = parse_gguf(bytes_of(both), "f.gguf");
  ASSERT_TRUE(content.ok());
  for (const GgmlClaim& claim : content->claims) {
    ASSERT_NE(claim.type(), nullptr);
    EXPECT_EQ(claim.type()->row_bytes, 4U);
  }

  file.tensor("c", {512, 32}, 142, 32 * 136);
  const std::string contrary = file.bytes();
  content = parse_gguf(bytes_of(contrary), "f.gguf");
  ASSERT_TRUE(content.ok());
  for (const GgmlClaim& claim : content->claims) {
    EXPECT_TRUE(claim.types.empty());
    EXPECT_NE(claim.problem.find("no one meaning"), std::string::npos) << claim.problem;
  }
}

TEST(GgufReader, ListsBlockTypesThatDoNotFitWithTheReason) {
  struct Case {
    uint32_t id;
    uint64_t bytes;
    const char* says;
  };
  const Case cases[] = {
      {213, 6080, "would take 11264"},  // Q5_K_R4
      {77, 6080, "77 is unknown: [64, 256] has 6080 bytes, which fit no known type"},
      {77, 64 * 84, "the size of Q2_K (ggml)"},
      {12, 64 * 140, "Q4_K (ggml) would take 9216"},
  };
  for (const Case& c : cases) {
    RawGguf file;
    file.tensor("w", {256, 64}, c.id, c.bytes);
    file.tensor("next", {8}, 0, 32);
    const std::string bytes = file.bytes();
    const auto content = parse_gguf(bytes_of(bytes), "f.gguf");
    ASSERT_TRUE(content.ok()) << content.error().to_string();
    EXPECT_TRUE(content->claims[0].types.empty());
    EXPECT_NE(content->claims[0].problem.find(c.says), std::string::npos)
        << content->claims[0].problem;
    EXPECT_EQ(content->tensors[0].shape, (Shape{static_cast<int64_t>(c.bytes)}));
  }
}

struct BadFile {
  const char* what;
  std::function<std::string(RawGguf)> bytes;
  const char* says;
  const char* tensor = "";
};

TEST(GgufReader, RefusesBrokenFiles) {
  const auto edit = [](auto change) {
    return [change](RawGguf file) {
      change(file);
      return file.bytes();
    };
  };
  const BadFile cases[] = {
      {"other magic", [](const RawGguf&) { return std::string("GGML____________"); }, "no GGUF"},
      {"version 1", edit([](RawGguf& f) { f.version = 1; }), "version is not read"},
      {"big-endian", edit([](RawGguf& f) { f.version = 3 << 24; }), "big-endian"},
      {"cut in the keys", [](const RawGguf& f) { return f.bytes().substr(0, 40); }, "absurd"},
      {"cut in a key", [](const RawGguf& f) { return f.bytes().substr(0, 120); }, "end too early"},
      {"cut in the infos",
       [](const RawGguf& f) { return f.header().substr(0, f.header().size() - 5); },
       "end too early"},
      {"cut in the data",
       [](const RawGguf& f) { return f.bytes().substr(0, f.bytes().size() - 100); },
       "ends before the tensor does", "q"},
      {"absurd keys", edit([](RawGguf& f) { f.key_count = 1ULL << 60; }), "number of keys"},
      {"absurd tensors", edit([](RawGguf& f) { f.tensor_count = 1ULL << 60; }),
       "number of tensors"},
      {"unknown value type", edit([](RawGguf& f) { f.key("k", 13, "1234"); }), "unknown value"},
      {"string beyond the file",
       edit([](RawGguf& f) { f.key("k", 8, little_endian(uint64_t{1} << 40)); }), "end too early"},
      {"array beyond the file", edit([](RawGguf& f) { f.array("k", 5, uint64_t{1} << 61, ""); }),
       "longer than the file"},
      {"deep arrays", edit([](RawGguf& f) {
         std::string items;
         for (int i = 0; i < 50; ++i)
           items += little_endian<uint32_t>(9) + little_endian<uint64_t>(1);
         f.array("k", 9, 1, items + little_endian<uint32_t>(0) + little_endian<uint64_t>(0));
       }),
       "too deeply"},
      {"a key twice", edit([](RawGguf& f) { f.number("llama.block_count", 3); }), "twice"},
      {"a key that is no text", edit([](RawGguf& f) { f.number("\xff", 3); }), "not UTF-8"},
      {"alignment 0", edit([](RawGguf& f) { f.number("general.alignment", 0); }), "power of two"},
      {"alignment 24", edit([](RawGguf& f) { f.number("general.alignment", 24); }), "power of two"},
      {"alignment in words", edit([](RawGguf& f) { f.text("general.alignment", "32"); }),
       "power of two"},
      {"a tensor twice", edit([](RawGguf& f) { f.tensors[1].name = "f"; }), "there twice", "f"},
      {"a name that is no text", edit([](RawGguf& f) { f.tensors[1].name = "\xc0\x80"; }),
       "not UTF-8"},
      {"five dimensions", edit([](RawGguf& f) {
         f.tensors[0].dims = {1, 1, 1, 1, 6};
       }),
       "dimensions is absurd", "f"},
      {"negative extent", edit([](RawGguf& f) { f.tensors[0].dims = {~0ULL}; }), "negative", "f"},
      {"absurd shape", edit([](RawGguf& f) {
         f.tensors[0].dims = {1ULL << 40, 1ULL << 40};
       }),
       "too many elements", "f"},
      {"absurd extent", edit([](RawGguf& f) { f.tensors[0].dims = {1ULL << 60}; }),
       "too many elements", "f"},
      {"misaligned", edit([](RawGguf& f) { f.tensors[1].offset = 36; }), "not aligned", "h"},
      {"same place", edit([](RawGguf& f) { f.tensors[1].offset = 0; }), "lies where tensor"},
      {"beyond the end", edit([](RawGguf& f) { f.tensors[2].offset = 1U << 20; }), "beyond the end",
       "q"},
      {"a gap at the start", edit([](RawGguf& f) { f.tensors[0].offset = 1U << 10; }),
       "beyond the end", "f"},
      {"numbers that overlap", edit([](RawGguf& f) {
         f.tensors[0].dims = {3, 4};
       }),
       "overlaps the next", "f"},
      {"numbers with a gap behind", edit([](RawGguf& f) { f.tensors[1].offset = 64; }), "", ""},
  };
  for (const BadFile& bad : cases) {
    SCOPED_TRACE(bad.what);
    const std::string bytes = bad.bytes(small_file());
    const auto content = parse_gguf(bytes_of(bytes), "f.gguf");
    if (content.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    const Error& error = content.error();
    EXPECT_EQ(exit_code(error.kind), 4);
    EXPECT_EQ(error.file, "f.gguf");
    EXPECT_NE(error.to_string().find(bad.says), std::string::npos) << error.to_string();
    if (*bad.tensor != '\0') {
      EXPECT_EQ(error.tensor, bad.tensor) << error.to_string();
    }
  }
}

TEST(GgufReader, TakesTensorsWithoutElementsAndScalars) {
  RawGguf file;
  file.tensor("empty", {0, 4}, 134, 0);
  file.tensor("scalar", {}, 0, 4);
  const std::string bytes = file.bytes();
  const auto content = parse_gguf(bytes_of(bytes), "f.gguf");
  ASSERT_TRUE(content.ok()) << content.error().to_string();
  for (const TensorView& tensor : content->tensors) {
    EXPECT_EQ(*byte_count(tensor.dtype, tensor.shape), tensor.bytes.size());
  }
  EXPECT_EQ(content->tensors[1].shape, Shape{});
}

}  // namespace
}  // namespace trilith::checkpoint
