// OutputFolder: a folder that appears whole or not at all. Everything is written into a folder of a
// temporary name beside it, which commit() renames; without commit it is removed with what it
// holds. SafetensorsFolder writes the tensors of a model into it, one at a time, in files of a
// bounded size with the index that transformers expects.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "checkpoint/safetensors.h"

namespace trilith::transform {

class OutputFolder {
 public:
  // Refuses a `path` that exists, whose parent does not, or whose disk has less than `bytes` left.
  static Result<OutputFolder> create(const std::string& path, uint64_t bytes);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();

  std::string file(std::string_view name) const;
  Status write_json(std::string_view name, const Json& json) const;
  Status copy(const std::string& from, std::string_view name) const;
  Status commit();
  // A file of the folder as the output; the rest is removed.
  Status commit_file(std::string_view name);

 private:
  OutputFolder(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  std::string path_;
  std::string temporary_;
};

struct TensorToCome {
  std::string name;
  DType dtype = DType::kU8;
  Shape shape;
  uint64_t bytes = 0;
};

class SafetensorsFolder {
 public:
  // `tensors` in the order in which they will be written; a file holds at most `shard_bytes`, or
  // one tensor that is larger. `metadata` goes into every file.
  static Result<SafetensorsFolder> create(const OutputFolder& folder,
                                          std::vector<TensorToCome> tensors, uint64_t shard_bytes,
                                          const Json& metadata);
  // The whole of the next tensor.
  Status write(std::string_view name, std::span<const std::byte> bytes);
  // After the last tensor: the index, when there are several files.
  Status finish();
  size_t files() const { return shards_.size(); }

 private:
  struct Shard {
    std::string name;
    size_t begin = 0, end = 0;  // of tensors_
  };
  explicit SafetensorsFolder(const OutputFolder& folder) : folder_(&folder) {}
  Status open_shard();

  const OutputFolder* folder_;
  std::vector<TensorToCome> tensors_;
  std::vector<Shard> shards_;
  Json metadata_;
  size_t next_ = 0;   // tensor
  size_t shard_ = 0;  // being written
  std::optional<checkpoint::SafetensorsWriter> writer_;
};

}  // namespace trilith::transform
