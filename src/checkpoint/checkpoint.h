// Checkpoint: a model's files opened for reading, whatever the container: the tensors as views into
// memory maps, and the JSON files beside them. Opening checks every header field against the file
// before it is used; no tensor data is read. The views live as long as the Checkpoint. Immutable
// after open, so safe to share between threads. docs/CHECKPOINTS.md says what is read and refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "checkpoint/gguf.h"

namespace trilith::checkpoint {

enum class Container {
  kSafetensors,
  kSafetensorsSharded,
  kGguf,
  kGgufSharded,
  kTorchZip,
  kTorchZipSharded,
};
// "safetensors", "safetensors-sharded", "gguf", …
std::string_view container_name(Container container);

class Checkpoint {
 public:
  // `path`: a directory, a file of any container (told by its first bytes, not by its name), or a
  // *.index.json file. find_files (discovery.h) says which files of a directory are taken.
  static Result<Checkpoint> open(const std::string& path);

  Container container() const { return container_; }
  // The folder that holds the files (tokenizer.json and others lie there too).
  const std::string& folder() const { return folder_; }
  // All tensors of all shards, ordered by name; names are unique.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;
  // The file a tensor lies in, for error messages; the folder when there is no such tensor.
  const std::string& file_of(std::string_view name) const;
  // An object, possibly empty. safetensors: the merged `__metadata__` of the shards (strings).
  // GGUF: the key-values, but for long arrays. PyTorch: what the file holds beside tensors.
  const Json& metadata() const { return metadata_; }
  // config.json and generation_config.json; null when the file is absent. Of a GGUF file of a known
  // architecture, config is what its keys say (gguf_model.h): they travel with the weights.
  const Json& config() const { return config_; }
  const Json& generation_config() const { return generation_config_; }

  // GGUF only, else empty or null: the arrays of the header (tokenizer.ggml.tokens, …), and what
  // the file claims about a tensor.
  const std::vector<GgufArray>& gguf_arrays() const { return arrays_; }
  const GgufArray* gguf_array(std::string_view key) const;
  const GgmlClaim* ggml_claim(std::string_view name) const;

  // A JSON file of the folder (quantize_config.json, hf_quant_config.json, …), read anew at every
  // call; null when absent.
  Result<Json> side_json(const std::string& name) const;

 private:
  Status read_config();

  Container container_ = Container::kSafetensors;
  std::string folder_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  // PyTorch only: tensors that do not lie in row-major order.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> copies_;
  std::vector<TensorView> tensors_;
  std::vector<size_t> file_index_;  // of tensors_[i] into files_
  std::vector<GgmlClaim> claims_;   // of tensors_[i]; empty unless GGUF
  std::vector<GgufArray> arrays_;
  Json metadata_;
  Json config_;
  Json generation_config_;
};

}  // namespace trilith::checkpoint
