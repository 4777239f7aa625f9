// MappedFile: a file read through a private, read-only memory map. Movable; the map lives as long
// as the object. read_text_file: a small file as a string, refused above a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace trilith {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

constexpr uint64_t kMaxTextFileBytes = uint64_t{64} << 20;

Result<std::string> read_text_file(const std::string& path, uint64_t max_bytes = kMaxTextFileBytes);

}  // namespace trilith
