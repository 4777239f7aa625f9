// The small services of base: reader, files, hashes, shapes, threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <numeric>

#include "base/byte_reader.h"
#include "base/fingerprint.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/sha256.h"
#include "base/splitmix.h"
#include "base/tensor_view.h"
#include "base/thread_pool.h"

namespace trilith {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(ByteReader, RefusesToReadBehindTheEnd) {
  ByteReader reader(bytes_of("abc"));
  EXPECT_EQ(*reader.read_u8(), 'a');
  const auto word = reader.read_u32();
  ASSERT_FALSE(word.ok());
  EXPECT_EQ(word.error().offset, 1U);
  EXPECT_EQ(reader.remaining(), 2U);  // nothing was consumed
  EXPECT_FALSE(reader.skip(~uint64_t{0}).ok());
  EXPECT_FALSE(reader.seek(4).ok());
}

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(bytes_of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(SplitMix64, PublishedVectors) {
  SplitMix64 random(1234567);
  for (const uint64_t expected : {6457827717110365317ULL, 3203168211198807973ULL,
                                  9817491932198370423ULL, 4593380528125082431ULL}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(Fingerprint, TellsOrderFromContent) {
  const float a[] = {1, 2, 3};
  const float moved[] = {3, 2, 1};
  const float changed[] = {1, 2, 4};
  EXPECT_NE(fingerprint(a).ordered, fingerprint(moved).ordered);
  EXPECT_EQ(fingerprint(a).multiset, fingerprint(moved).multiset);
  EXPECT_NE(fingerprint(a).multiset, fingerprint(changed).multiset);
}

TEST(Shape, OverflowIsRefused) {
  EXPECT_EQ(*element_count(Shape{3, 0, 5}), 0U);
  EXPECT_FALSE(element_count(Shape{int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(element_count(Shape{-1}).ok());
  EXPECT_FALSE(byte_count(DType::kF64, Shape{int64_t{1} << 61}).ok());
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("trilith_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "x.txt";
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ASSERT_TRUE(write_text_file(path, "whole").ok());
  EXPECT_EQ(*read_text_file(path), "whole");
  EXPECT_FALSE(read_text_file(path, 3).ok());
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(write_text_file(path, "no folder").ok());
}

TEST(ThreadPool, EveryIndexOnceWhateverTheThreads) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{1000}}) {
      std::vector<std::atomic<int>> hits(count);
      pool.parallel_for(count, 3, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) ++hits[i];
      });
      for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
    }
  }
}

}  // namespace
}  // namespace trilith
