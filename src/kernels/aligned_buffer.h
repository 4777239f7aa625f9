// AlignedBuffer: zeroed bytes on a 64-byte boundary (a cache line, the widest vector). Movable.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace trilith::kernels {

class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size)
      : bytes_(static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}))),
        size_(size) {
    std::memset(bytes_.get(), 0, size);
  }

  size_t size() const { return size_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes_.get());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes_.get());
  }

 private:
  struct Release {
    void operator()(std::byte* bytes) const {
      ::operator delete (bytes, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<std::byte, Release> bytes_;
  size_t size_ = 0;
};

}  // namespace trilith::kernels
