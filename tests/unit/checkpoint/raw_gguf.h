// GGUF files put together by hand, so that tests can break them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace trilith::checkpoint {

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string gguf_text(std::string_view text) {
  return little_endian<uint64_t>(text.size()) + std::string(text);
}

// Header fields are public: a test changes one and asks for the bytes.
struct RawGguf {
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;  // fastest first, as stored
    uint32_t type = 0;
    uint64_t offset = 0;
  };

  uint32_t version = 3;
  uint64_t alignment = 32;
  std::string keys;
  uint64_t key_count = 0;
  std::vector<Tensor> tensors;
  uint64_t tensor_count = 0;
  uint64_t data_bytes = 0;

  // `value` as stored, without its type.
  void key(std::string_view name, uint32_t type, const std::string& value) {
    keys += gguf_text(name) + little_endian(type) + value;
    ++key_count;
  }
  void text(std::string_view name, std::string_view value) { key(name, 8, gguf_text(value)); }
  void number(std::string_view name, uint32_t value) { key(name, 4, little_endian(value)); }
  void array(std::string_view name, uint32_t type, uint64_t count, const std::string& items) {
    key(name, 9, little_endian(type) + little_endian(count) + items);
  }
  // Behind the tensors so far.
  void tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t bytes) {
    tensors.push_back({std::string(name), std::move(dims), type, data_bytes});
    data_bytes += (bytes + alignment - 1) / alignment * alignment;
    ++tensor_count;
  }

  std::string header() const {
    std::string file = "GGUF" + little_endian(version) + little_endian(tensor_count) +
                       little_endian(key_count) + keys;
    for (const Tensor& tensor : tensors) {
      file += gguf_text(tensor.name) + little_endian(static_cast<uint32_t>(tensor.dims.size()));
      for (const uint64_t extent : tensor.dims) file += little_endian(extent);
      file += little_endian(tensor.type) + little_endian(tensor.offset);
    }
    return file;
  }
  std::string bytes() const {
    std::string file = header();
    file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
    for (uint64_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i * 7);
    return file;
  }
};

}  // namespace trilith::checkpoint
