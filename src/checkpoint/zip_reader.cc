#include "checkpoint/zip_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/byte_reader.h"
#include "base/tensor_view.h"
#include "base/utf8.h"

namespace trilith::checkpoint {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kLocator64Bytes = 20;
constexpr uint64_t kCentralBytes = 46;  // without name, extra field and comment
constexpr uint64_t kLocalBytes = 30;    // without name and extra field
constexpr uint64_t kMaxCommentBytes = 65535;
constexpr uint64_t kMaxEntries = uint64_t{1} << 18;
constexpr uint16_t kExtra64 = 1;
constexpr uint16_t kEncrypted = 1;

struct Directory {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

// The end record is the last one whose comment reaches the end of the file.
Result<uint64_t> find_end(std::span<const std::byte> bytes) {
  const uint64_t size = bytes.size();
  const uint64_t furthest = kEndBytes + kMaxCommentBytes;
  for (uint64_t back = kEndBytes; back <= std::min(size, furthest); ++back) {
    const std::byte* record = bytes.data() + (size - back);
    if (load<uint32_t>(record) == kEndSignature &&
        load<uint16_t>(record + 20) == back - kEndBytes) {
      return size - back;
    }
  }
  return Error::damaged("the zip archive has no directory at its end")
      .with_offset(size)
      .with_hint("the file is truncated: fetch it again");
}

Result<Directory> read_end64(std::span<const std::byte> bytes, uint64_t end) {
  ByteReader reader(bytes.first(end));
  TRILITH_RETURN_IF_ERROR(reader.seek(end - std::min(end, kLocator64Bytes)));
  TRILITH_ASSIGN_OR_RETURN(const uint32_t locator, reader.read_u32());
  TRILITH_RETURN_IF_ERROR(reader.skip(4));
  TRILITH_ASSIGN_OR_RETURN(const uint64_t at, reader.read_u64());
  if (locator != kLocator64Signature) {
    return Error::damaged("the zip64 locator is missing").with_offset(end);
  }
  TRILITH_RETURN_IF_ERROR(reader.seek(at));
  TRILITH_ASSIGN_OR_RETURN(const uint32_t signature, reader.read_u32());
  if (signature != kEnd64Signature) {
    return Error::damaged("the zip64 end record is missing").with_offset(at);
  }
  Directory directory;
  TRILITH_RETURN_IF_ERROR(reader.skip(28));  // size, versions, disks, entries on this disk
  TRILITH_ASSIGN_OR_RETURN(directory.entries, reader.read_u64());
  TRILITH_ASSIGN_OR_RETURN(directory.bytes, reader.read_u64());
  TRILITH_ASSIGN_OR_RETURN(directory.offset, reader.read_u64());
  return directory;
}

Result<Directory> read_directory(std::span<const std::byte> bytes) {
  TRILITH_ASSIGN_OR_RETURN(const uint64_t end, find_end(bytes));
  const std::byte* record = bytes.data() + end;
  Directory directory{load<uint16_t>(record + 10), load<uint32_t>(record + 12),
                      load<uint32_t>(record + 16)};
  if (directory.entries == 0xffff || directory.bytes == 0xffffffff ||
      directory.offset == 0xffffffff) {
    TRILITH_ASSIGN_OR_RETURN(directory, read_end64(bytes, end));
  }
  if (directory.offset > end || directory.bytes > end - directory.offset) {
    return Error::damaged("the zip directory lies beyond the end of the file").with_offset(end);
  }
  const uint64_t most = std::min(kMaxEntries, directory.bytes / kCentralBytes);
  if (directory.entries > most) {
    return Error::damaged("the number of zip entries is absurd")
        .with_offset(end)
        .with_expected(fmt::format("at most {}", most))
        .with_found(fmt::format("{}", directory.entries));
  }
  return directory;
}

struct Central {
  std::string name;
  uint64_t stored = 0;  // bytes in the archive
  uint64_t size = 0;    // bytes of the file
  uint64_t local = 0;   // offset of the local header
  uint32_t crc32 = 0;
  uint16_t flags = 0;
  uint16_t method = 0;
};

// The zip64 extra field holds those of size, stored and offset that do not fit 32 bits.
Status read_extra64(ByteReader extra, Central& entry) {
  while (extra.remaining() >= 4) {
    TRILITH_ASSIGN_OR_RETURN(const uint16_t id, extra.read_u16());
    TRILITH_ASSIGN_OR_RETURN(const uint16_t length, extra.read_u16());
    TRILITH_ASSIGN_OR_RETURN(const auto field, extra.read_bytes(length));
    if (id != kExtra64) continue;
    ByteReader values(field);
    for (uint64_t* value : {&entry.size, &entry.stored, &entry.local}) {
      if (*value != 0xffffffff) continue;
      TRILITH_ASSIGN_OR_RETURN(*value, values.read_u64());
    }
    return {};
  }
  return {};
}

Result<Central> read_central(ByteReader& reader) {
  const uint64_t start = reader.offset();
  TRILITH_ASSIGN_OR_RETURN(const auto fixed, reader.read_bytes(kCentralBytes));
  const std::byte* record = fixed.data();
  if (load<uint32_t>(record) != kCentralSignature) {
    return Error::damaged("the zip directory is damaged").with_offset(start);
  }
  Central entry;
  entry.flags = load<uint16_t>(record + 8);
  entry.method = load<uint16_t>(record + 10);
  entry.crc32 = load<uint32_t>(record + 16);
  entry.stored = load<uint32_t>(record + 20);
  entry.size = load<uint32_t>(record + 24);
  entry.local = load<uint32_t>(record + 42);
  TRILITH_ASSIGN_OR_RETURN(const std::string_view name,
                           reader.read_string(load<uint16_t>(record + 28)));
  if (first_invalid_utf8(name)) {
    return Error::damaged("the name of a zip entry is not UTF-8").with_offset(start);
  }
  entry.name = name;
  TRILITH_ASSIGN_OR_RETURN(const auto extra, reader.read_bytes(load<uint16_t>(record + 30)));
  TRILITH_RETURN_IF_ERROR(reader.skip(load<uint16_t>(record + 32)));
  TRILITH_RETURN_IF_ERROR(read_extra64(ByteReader(extra), entry));
  return entry;
}

struct Placed {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<Placed> place(const Central& entry, std::span<const std::byte> bytes,
                     uint64_t directory_offset) {
  if ((entry.flags & kEncrypted) != 0) return Error::unsupported("the zip entry is encrypted");
  if (entry.method == 0 && entry.stored != entry.size) {
    return Error::damaged("the zip entry has two sizes")
        .with_expected(fmt::format("{} bytes", entry.size))
        .with_found(fmt::format("{} bytes", entry.stored));
  }
  const Error beyond =
      Error::damaged("the zip entry lies beyond the end of the data").with_offset(entry.local);
  if (entry.local > directory_offset || directory_offset - entry.local < kLocalBytes) return beyond;
  const std::byte* record = bytes.data() + entry.local;
  if (load<uint32_t>(record) != kLocalSignature) {
    return Error::damaged("the zip entry has no local header").with_offset(entry.local);
  }
  const uint64_t begin =
      entry.local + kLocalBytes + load<uint16_t>(record + 26) + load<uint16_t>(record + 28);
  if (begin > directory_offset || entry.stored > directory_offset - begin) return beyond;
  return Placed{begin, begin + entry.stored};
}

Status check_overlap(const std::vector<Central>& entries, const std::vector<Placed>& placed) {
  std::vector<size_t> order(entries.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return entries[i].local; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (entries[order[i]].local < placed[order[i - 1]].end) {
      return Error::damaged(fmt::format("the zip entries '{}' and '{}' overlap",
                                        entries[order[i - 1]].name, entries[order[i]].name))
          .with_offset(entries[order[i]].local);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ZipEntry>> parse_zip(std::span<const std::byte> bytes) {
  TRILITH_ASSIGN_OR_RETURN(const Directory directory, read_directory(bytes));
  ByteReader reader(bytes.first(directory.offset + directory.bytes));
  TRILITH_RETURN_IF_ERROR(reader.seek(directory.offset));
  std::vector<Central> entries;
  std::vector<Placed> placed;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    TRILITH_ASSIGN_OR_RETURN(Central entry, read_central(reader));
    auto place_of_entry = place(entry, bytes, directory.offset);
    if (!place_of_entry.ok()) {
      return std::move(place_of_entry).error().with_context("'" + entry.name + "'");
    }
    if (!names.insert(entry.name).second) {
      return Error::damaged("the zip entry is there twice").with_found(entry.name);
    }
    placed.push_back(*place_of_entry);
    entries.push_back(std::move(entry));
  }
  TRILITH_RETURN_IF_ERROR(check_overlap(entries, placed));
  std::vector<ZipEntry> files;
  files.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    files.push_back({std::move(entries[i].name),
                     bytes.subspan(placed[i].begin, placed[i].end - placed[i].begin),
                     entries[i].size, entries[i].crc32, entries[i].method});
  }
  return files;
}

uint32_t crc32_of(std::span<const std::byte> bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<uint32_t>(byte)) & 0xff];
  }
  return ~crc;
}

}  // namespace trilith::checkpoint
