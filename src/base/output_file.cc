#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace trilith {
namespace {

Error write_error(const std::string& path) {
  return Error::runtime(fmt::format("cannot write: {}", std::strerror(errno))).with_file(path);
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  std::string temporary = path + ".tmp.XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return write_error(path);
  return OutputFile(path, std::move(temporary), descriptor);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return write_error(path_);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
  return {};
}

Status OutputFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

Status OutputFile::commit() {
  const int descriptor = std::exchange(descriptor_, -1);
  const bool flushed = ::fsync(descriptor) == 0 && ::fchmod(descriptor, 0644) == 0;
  if (::close(descriptor) != 0 || !flushed) return write_error(path_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return write_error(path_);
  temporary_.clear();
  return {};
}

Status write_text_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? Status() : write_error("stdout");
  }
  TRILITH_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  TRILITH_RETURN_IF_ERROR(file.write(text));
  return file.commit();
}

}  // namespace trilith
