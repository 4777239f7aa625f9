// parse_zip: reads what is stored, refuses what does not hold together.
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/zip_reader.h"
#include "raw_file.h"
#include "raw_torch.h"

namespace trilith::checkpoint {
namespace {

RawZip small_zip() {
  RawZip zip;
  zip.add("a", "first");
  zip.add("b/c", "second file");
  return zip;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect_small(const std::string& bytes) {
  const auto entries = parse_zip(bytes_of(bytes));
  ASSERT_TRUE(entries.ok()) << entries.error().to_string();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ(text_of((*entries)[0].data), "first");
  EXPECT_EQ((*entries)[1].name, "b/c");
  EXPECT_EQ(text_of((*entries)[1].data), "second file");
}

TEST(ZipReader, ReadsStoredEntries) {
  RawZip zip = small_zip();
  expect_small(zip.bytes());
  zip.comment = "with a comment that holds PK\5\6 itself, and more text behind it";
  expect_small(zip.bytes());
}

TEST(ZipReader, ReadsZip64) {
  RawZip zip = small_zip();
  RawZip::Entry& entry = zip.entries[1];
  entry.extra = little_endian<uint16_t>(0xcafe) + little_endian<uint16_t>(2) + "xx" +
                little_endian<uint16_t>(1) + little_endian<uint16_t>(24) +
                little_endian<uint64_t>(entry.size) + little_endian<uint64_t>(entry.stored) +
                little_endian<uint64_t>(entry.local);
  entry.size = entry.stored = entry.local = 0xffffffff;
  const uint64_t end64 = zip.local_part.size() + zip.directory().size();
  zip.before_end = "PK\6\6" + std::string(20, '\0') + little_endian<uint64_t>(2) +
                   little_endian<uint64_t>(2) + little_endian<uint64_t>(zip.directory().size()) +
                   little_endian<uint64_t>(zip.local_part.size()) + "PK\6\7" +
                   std::string(4, '\0') + little_endian(end64) + std::string(4, '\0');
  zip.count = 0xffff;
  zip.directory_offset = 0xffffffff;
  expect_small(zip.bytes());

  RawZip broken = zip;
  broken.before_end[0] = 'X';
  EXPECT_FALSE(parse_zip(bytes_of(broken.bytes())).ok());
  broken = zip;
  broken.before_end.resize(56);
  EXPECT_FALSE(parse_zip(bytes_of(broken.bytes())).ok());
  broken = zip;
  broken.entries[1].extra.resize(20);
  EXPECT_FALSE(parse_zip(bytes_of(broken.bytes())).ok());
}

TEST(ZipReader, RefusesBrokenArchives) {
  struct Case {
    const char* what;
    std::function<void(RawZip&)> change;
    const char* says;
  };
  const Case cases[] = {
      {"more entries than directory", [](RawZip& z) { z.count = 3; }, "absurd"},
      {"absurd count", [](RawZip& z) { z.count = 60000; }, "absurd"},
      {"directory behind the end", [](RawZip& z) { z.directory_offset = 1 << 20; }, "beyond"},
      {"directory elsewhere", [](RawZip& z) { z.directory_offset = 3; }, "directory is damaged"},
      {"directory too long", [](RawZip& z) { z.directory_bytes = 1 << 20; }, "beyond the end"},
      {"entry behind the end", [](RawZip& z) { z.entries[1].local = 1 << 20; }, "beyond"},
      {"entry longer than the file",
       [](RawZip& z) { z.entries[1].stored = z.entries[1].size = 1 << 20; }, "beyond"},
      {"entry that reaches into the directory",
       [](RawZip& z) { z.entries[1].stored = z.entries[1].size = 12; }, "beyond"},
      {"no local header", [](RawZip& z) { z.entries[1].local += 1; }, "no local header"},
      {"one place, two names", [](RawZip& z) { z.entries[1].local = 0; }, "overlap"},
      {"overlap by a byte", [](RawZip& z) { z.entries[0].stored = z.entries[0].size = 6; },
       "overlap"},
      {"one name twice", [](RawZip& z) { z.entries[1].name = "a"; }, "there twice"},
      {"two sizes", [](RawZip& z) { z.entries[0].size = 1 << 30; }, "two sizes"},
      {"encrypted", [](RawZip& z) { z.entries[0].flags = 1; }, "encrypted"},
      {"a name that is no text", [](RawZip& z) { z.entries[0].name = "\xff"; }, "not UTF-8"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    RawZip zip = small_zip();
    c.change(zip);
    const std::string bytes = zip.bytes();
    const auto entries = parse_zip(bytes_of(bytes));
    ASSERT_FALSE(entries.ok());
    EXPECT_EQ(exit_code(entries.error().kind), 4);
    EXPECT_NE(entries.error().to_string().find(c.says), std::string::npos)
        << entries.error().to_string();
  }
  const std::string bytes = small_zip().bytes();
  for (size_t kept = 0; kept < bytes.size(); ++kept) {
    EXPECT_FALSE(parse_zip(bytes_of(bytes).first(kept)).ok()) << kept;
  }
}

TEST(ZipReader, ChecksumIsThatOfZip) {
  EXPECT_EQ(crc32_of(bytes_of("123456789")), 0xcbf43926U);  // the check value of CRC-32/ISO-HDLC
}

}  // namespace
}  // namespace trilith::checkpoint
