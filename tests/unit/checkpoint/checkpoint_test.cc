// Checkpoint::open: which files it takes, and what it says when they do not fit together.
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/safetensors.h"
#include "raw_file.h"
#include "raw_torch.h"
#include "support/temp_folder.h"

namespace trilith::checkpoint {
namespace {

using support::TempFolder;

// A file of one-byte tensors, one a name.
std::string tensors_named(const std::vector<std::string>& names) {
  std::string header = "{";
  for (size_t i = 0; i < names.size(); ++i) {
    header += (i == 0 ? "\"" : ",\"") + names[i] +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  }
  return raw_file(header + "}", names.size());
}

constexpr const char* kIndex = "model.safetensors.index.json";

TEST(Checkpoint, OpensASingleFileWithItsConfigs) {
  const TempFolder folder;
  folder.write("model.safetensors", tensors_named({"b", "a"}));
  folder.write("config.json", R"({"model_type":"llama","model_type":"bitnet"})");
  folder.write("generation_config.json", R"({"eos_token_id":[1,2]})");
  for (const std::string& path : {folder.path(), folder.file("model.safetensors")}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().to_string();
    EXPECT_EQ(checkpoint->container(), Container::kSafetensors);
    EXPECT_EQ(checkpoint->folder(), folder.path());
    ASSERT_EQ(checkpoint->tensors().size(), 2U);
    EXPECT_EQ(checkpoint->tensors()[0].name, "a");  // ordered by name
    EXPECT_EQ(checkpoint->find("b")->bytes[0], std::byte{0});
    EXPECT_EQ(checkpoint->find("c"), nullptr);
    EXPECT_EQ(checkpoint->file_of("a"), folder.file("model.safetensors"));
    EXPECT_EQ(*checkpoint->config()["model_type"].as_string(), "bitnet");  // the last wins
    EXPECT_TRUE(checkpoint->generation_config()["eos_token_id"].is_array());
  }
}

TEST(Checkpoint, ViewsSurviveAMove) {
  const TempFolder folder;
  folder.write("weights.safetensors", tensors_named({"a"}));
  auto opened = Checkpoint::open(folder.path());  // the only *.safetensors
  ASSERT_TRUE(opened.ok());
  const Checkpoint moved = std::move(opened).value();
  EXPECT_EQ(moved.find("a")->bytes[0], std::byte{0});
  EXPECT_TRUE(moved.config().is_null());
}

TEST(Checkpoint, OpensShards) {
  const TempFolder folder;
  folder.write("m-1.safetensors", tensors_named({"b", "d"}));
  folder.write("m-2.safetensors", tensors_named({"a", "c"}));
  folder.write(kIndex, R"({"metadata":{"total_size":4},"weight_map":{"a":"m-2.safetensors",)"
                       R"("b":"m-1.safetensors","c":"m-2.safetensors","d":"m-1.safetensors"}})");
  for (const std::string& path : {folder.path(), folder.file(kIndex)}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().to_string();
    EXPECT_EQ(checkpoint->container(), Container::kSafetensorsSharded);
    ASSERT_EQ(checkpoint->tensors().size(), 4U);
    EXPECT_EQ(checkpoint->file_of("c"), folder.file("m-2.safetensors"));
    EXPECT_EQ(checkpoint->find("c")->bytes[0], std::byte{1});
    EXPECT_EQ(checkpoint->find("d")->bytes[0], std::byte{1});
  }
}

struct BadFolder {
  const char* what;
  std::vector<std::pair<std::string, std::string>> files;
  ErrorKind kind;
  const char* says;
  const char* file;  // the file that must be named
  const char* tensor = "";
};

std::vector<BadFolder> bad_folders() {
  constexpr auto kDamaged = ErrorKind::kDamaged;
  const std::string ab = tensors_named({"a", "b"});
  const std::string a = tensors_named({"a"});
  const auto index = [](const std::string& map) { return R"({"weight_map":)" + map + "}"; };
  return {
      {"empty folder", {}, kDamaged, "no weights", ""},
      {"a cut GGUF", {{"m.gguf", "GGUF"}}, kDamaged, "end too early", "m.gguf"},
      {"several files",
       {{"x.safetensors", a}, {"y.safetensors", a}},
       ErrorKind::kAmbiguous,
       "x.safetensors, y.safetensors",
       ""},
      {"several GGUF files",
       {{"x.gguf", "GGUF"}, {"y.gguf", "GGUF"}},
       ErrorKind::kAmbiguous,
       "x.gguf, y.gguf",
       ""},
      {"a part of a split GGUF is missing",
       {{"m-00001-of-00002.gguf", "GGUF"}},
       kDamaged,
       "part of the split file is missing",
       "m-00002-of-00002.gguf"},
      {"PyTorch without zip",
       {{"pytorch_model.bin", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"}},
       ErrorKind::kUnsupported,
       "old format",
       "pytorch_model.bin"},
      {"shards of different kinds",
       {{"x.safetensors", a},
        {"y.safetensors", "GGUF"},
        {kIndex, index(R"({"a":"x.safetensors","b":"y.safetensors"})")}},
       kDamaged,
       "different kinds",
       "y.safetensors"},
      {"zero-length file", {{"model.safetensors", ""}}, kDamaged, "empty", "model.safetensors"},
      {"config no object",
       {{"model.safetensors", a}, {"config.json", "[]"}},
       kDamaged,
       "no JSON object",
       "config.json"},
      {"config damaged",
       {{"model.safetensors", a}, {"config.json", "{\"a\":"}},
       kDamaged,
       "not valid JSON",
       "config.json"},
      {"index damaged", {{kIndex, "{"}}, kDamaged, "not valid JSON", kIndex},
      {"index without a map", {{kIndex, "{}"}}, kDamaged, "weight_map", kIndex},
      {"index with an empty map", {{kIndex, index("{}")}}, kDamaged, "weight_map", kIndex},
      {"index names a number",
       {{kIndex, index(R"({"a":1})")}},
       kDamaged,
       "no plain file",
       kIndex,
       "a"},
      {"index reaches out",
       {{kIndex, index(R"({"a":"../m.safetensors"})")}},
       kDamaged,
       "no plain file",
       kIndex,
       "a"},
      {"index names its folder",
       {{kIndex, index(R"({"a":".."})")}},
       kDamaged,
       "no plain file",
       kIndex,
       "a"},
      {"index lists a tensor twice",
       {{"x.safetensors", a},
        {"y.safetensors", a},
        {kIndex, index(R"({"a":"x.safetensors","a":"y.safetensors"})")}},
       kDamaged,
       "'a' occurs twice",
       kIndex},
      {"missing shard",
       {{"x.safetensors", a}, {kIndex, index(R"({"a":"x.safetensors","b":"y.safetensors"})")}},
       kDamaged,
       "shard is missing",
       "y.safetensors"},
      {"truncated shard",
       {{"x.safetensors", a.substr(0, a.size() - 1)}, {kIndex, index(R"({"a":"x.safetensors"})")}},
       kDamaged,
       "beyond the end",
       "x.safetensors",
       "a"},
      {"tensor not in its shard",
       {{"x.safetensors", a}, {kIndex, index(R"({"a":"x.safetensors","b":"x.safetensors"})")}},
       kDamaged,
       "does not hold",
       "x.safetensors",
       "b"},
      {"tensor in another shard",
       {{"x.safetensors", ab},
        {"y.safetensors", tensors_named({"c"})},
        {kIndex, index(R"({"a":"x.safetensors","b":"y.safetensors","c":"y.safetensors"})")}},
       kDamaged,
       "another shard",
       "x.safetensors",
       "b"},
      {"tensor in two shards",
       {{"x.safetensors", ab},
        {"y.safetensors", tensors_named({"b"})},
        {kIndex, index(R"({"a":"x.safetensors","b":"x.safetensors","c":"y.safetensors"})")}},
       kDamaged,
       "two shards",
       "y.safetensors",
       "b"},
      {"tensor the index does not list",
       {{"x.safetensors", ab}, {kIndex, index(R"({"a":"x.safetensors"})")}},
       kDamaged,
       "does not list",
       "x.safetensors",
       "b"},
  };
}

TEST(Checkpoint, RefusesWhatDoesNotFitTogether) {
  for (const BadFolder& bad : bad_folders()) {
    SCOPED_TRACE(bad.what);
    const TempFolder folder;
    for (const auto& [name, content] : bad.files) folder.write(name, content);
    const auto checkpoint = Checkpoint::open(folder.path());
    if (checkpoint.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    const Error& error = checkpoint.error();
    EXPECT_EQ(error.kind, bad.kind) << error.to_string();
    EXPECT_EQ(error.file, *bad.file == '\0' ? folder.path() : folder.file(bad.file));
    EXPECT_NE(error.to_string().find(bad.says), std::string::npos) << error.to_string();
    EXPECT_EQ(error.tensor, bad.tensor);
  }
}

TEST(Checkpoint, TakesTheFirstKindThatAFolderHas) {
  const TempFolder folder;
  const std::string torch = raw_torch(pickled::whole(
      pickled::dict({{"a", pickled::tensor(pickled::storage("ByteStorage", "0"), 0,
                                           pickled::numbers({3}), pickled::numbers({1}))}})));
  const auto container = [&] {
    const auto opened = Checkpoint::open(folder.path());
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    return opened.ok() ? container_name(opened->container()) : "";
  };
  folder.write("optimizer.pt", torch);
  folder.write("weights.pt", torch);
  folder.write("notes.bin", "no archive");
  EXPECT_EQ(container(), "torch-zip");
  folder.write("more.pth", torch);
  const auto several = Checkpoint::open(folder.path());
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.error().found, "more.pth, weights.pt");
  folder.write("pytorch_model.bin", torch);
  EXPECT_EQ(container(), "torch-zip");
  folder.write("other-name-of-a-gguf.bin", RawGguf().bytes());
  folder.write("m.gguf", RawGguf().bytes());
  EXPECT_EQ(container(), "gguf");
  folder.write("a.safetensors", tensors_named({"a"}));
  EXPECT_EQ(container(), "safetensors");
  // The name of a file says nothing: its first bytes do.
  EXPECT_EQ(Checkpoint::open(folder.file("other-name-of-a-gguf.bin"))->container(),
            Container::kGguf);
  folder.write("a.safetensors", torch);
  EXPECT_EQ(container(), "torch-zip");
}

TEST(Checkpoint, NamesAPathThatIsNotThere) {
  const auto checkpoint = Checkpoint::open("/no/such/model");
  ASSERT_FALSE(checkpoint.ok());
  EXPECT_EQ(checkpoint.error().kind, ErrorKind::kRuntime);
  EXPECT_EQ(checkpoint.error().file, "/no/such/model");
}

TEST(Checkpoint, OpensTheSample) {
  const auto checkpoint = Checkpoint::open(std::string(TRILITH_SOURCE_DIR) + "/models/sample");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().to_string();
  EXPECT_NE(checkpoint->find("model.embed_tokens.weight"), nullptr);
  EXPECT_TRUE(checkpoint->config().is_object());
}

}  // namespace
}  // namespace trilith::checkpoint
