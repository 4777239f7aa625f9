#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace trilith {
namespace {

Error system_error(const std::string& path, const char* action) {
  const int code = errno;
  Error error = Error::runtime(fmt::format("cannot {}: {}", action, std::strerror(code)));
  if (code == ENOENT) error = std::move(error).with_hint("check the path");
  return std::move(error).with_file(path);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error(path, "open");
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return Error::runtime("not a regular file").with_file(path);
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {  // NOLINT(*-cstyle-cast,*-int-to-ptr)
      const Error error = system_error(path, "map");
      ::close(descriptor);
      return error;
    }
  }
  ::close(descriptor);
  return MappedFile(path, static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_text_file(const std::string& path, uint64_t max_bytes) {
  TRILITH_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  if (bytes.size() > max_bytes) {
    return Error::damaged("the file is larger than this kind of file may be")
        .with_file(path)
        .with_expected(fmt::format("at most {} bytes", max_bytes))
        .with_found(fmt::format("{} bytes", bytes.size()));
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace trilith
