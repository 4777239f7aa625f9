// safetensors: u64 header length, a JSON header {name: {dtype, shape, data_offsets}, __metadata__},
// then the data (github.com/huggingface/safetensors, "Format"). Little-endian, offsets relative to
// the end of the header.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "base/output_file.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace trilith::checkpoint {

struct SafetensorsContent {
  std::vector<TensorView> tensors;  // in header order; views into `bytes`
  Json metadata;                    // an object of strings, possibly empty
};

// Refuses: header longer than the file or than 100 MB, bad JSON, duplicate names, unknown dtypes,
// negative or overflowing shapes, offsets that do not match the shape, overlap, or leave gaps, and
// bytes behind the last tensor. Offsets need no alignment.
Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> bytes,
                                             const std::string& file);

// Streaming writer: declare every tensor, then write them in the order declared; memory is one
// write at a time. The file appears under its name only after finish().
class SafetensorsWriter {
 public:
  // `metadata` is an object of strings, or null.
  static Result<SafetensorsWriter> create(const std::string& path, Json metadata);

  // Refuses a name declared before. Declare wide dtypes first to keep the data aligned.
  Status declare(const std::string& name, DType dtype, const Shape& shape);
  // Appends bytes of the current tensor, in any number of pieces; starts the data part at the first
  // call. When the current tensor is full the next one begins. More bytes than declared, or fewer
  // at finish(), are the caller's mistake.
  Status write(std::span<const std::byte> bytes);
  Status finish();

 private:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    uint64_t bytes;
  };
  SafetensorsWriter(OutputFile file, Json metadata)
      : file_(std::move(file)), metadata_(std::move(metadata)) {}
  Status write_header();

  OutputFile file_;
  Json metadata_;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  uint64_t declared_ = 0;  // data bytes in all
  uint64_t written_ = 0;
  bool header_done_ = false;
};

struct TensorToWrite {
  std::string name;
  DType dtype;
  Shape shape;
  std::span<const std::byte> bytes;
};
// Everything at once, atomically; stored in order of falling element size, so that all is aligned.
Status write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                         Json metadata);

}  // namespace trilith::checkpoint
