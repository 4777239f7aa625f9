// Streaming writer of GGUF v3 (docs/gguf.md of ggml-org/ggml): key-values, then every tensor
// declared, then their bytes in that order, each from a multiple of 32. Memory is one write at a
// time; the file appears under its name only after finish().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::checkpoint {

class GgufWriter {
 public:
  static Result<GgufWriter> create(const std::string& path);

  // Key-values; before the first write().
  void set_string(std::string_view key, std::string_view value);
  void set_u32(std::string_view key, uint32_t value);
  void set_f32(std::string_view key, float value);
  void set_bool(std::string_view key, bool value);
  void set_strings(std::string_view key, const std::vector<std::string>& values);
  void set_integers(std::string_view key, const std::vector<int32_t>& values);
  void set_floats(std::string_view key, const std::vector<float>& values);

  // `shape` slowest dimension first, as TensorView has it; `type` is a ggml type id and `bytes`
  // what the tensor takes in it. Refuses a name twice, and names longer than ggml's 63 bytes.
  Status declare(const std::string& name, uint32_t type, const Shape& shape, uint64_t bytes);
  // The next tensor, whole.
  Status write(std::span<const std::byte> bytes);
  Status finish();

 private:
  explicit GgufWriter(OutputFile file) : file_(std::move(file)) {}
  void begin_key(std::string_view key, uint32_t type);
  Status write_header();

  struct Entry {
    std::string name;
    uint32_t type;
    Shape shape;
    uint64_t bytes;
  };
  OutputFile file_;
  std::string keys_;  // as they are stored
  uint64_t key_count_ = 0;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  size_t next_ = 0;
  bool header_done_ = false;
};

}  // namespace trilith::checkpoint
