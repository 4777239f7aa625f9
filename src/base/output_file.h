// OutputFile: a file that appears whole or not at all. Written beside its place under a temporary
// name, flushed and renamed by commit(); removed when destroyed without commit. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trilith {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  uint64_t size() const { return size_; }
  // Flushes to disk, sets mode 0644 and renames over `path`.
  Status commit();

 private:
  OutputFile(std::string path, std::string temporary, int descriptor)
      : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// The whole of `text` at `path`, atomically; "-" writes to stdout.
Status write_text_file(const std::string& path, std::string_view text);

}  // namespace trilith
