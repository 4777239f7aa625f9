// The directory of a zip archive (PKWARE APPNOTE 6.3.9; zip64 too). Entries are views into the
// bytes parsed; nothing is decompressed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace trilith::checkpoint {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> data;  // as it lies in the archive
  uint64_t size = 0;                // of the file, decompressed
  uint32_t crc32 = 0;               // as stored; 0 when the writer left it out
  uint16_t method = 0;              // 0: stored, so that data is the file
};

// In the order of the directory. Refuses: no directory at the end, counts and offsets beyond the
// file, encrypted entries, entries that overlap, and a name that is there twice.
Result<std::vector<ZipEntry>> parse_zip(std::span<const std::byte> bytes);

// The checksum zip uses, of all bytes.
uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace trilith::checkpoint
