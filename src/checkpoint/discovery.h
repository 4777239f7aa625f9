// Which files make up a checkpoint: finds them from a path and reads a shard index. A file's kind
// is told by its first bytes, not by its name. No weights are opened here.
//
// Of a folder the first of these that exists is taken; several files of one line and no index are
// an error that names them:
//   model.safetensors.index.json, model.safetensors, *.safetensors
//   *.gguf (the parts of a split file count as one)
//   pytorch_model.bin.index.json, pytorch_model.bin, *.bin, *.pt and *.pth that hold weights
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trilith::checkpoint {

enum class FileKind { kSafetensors, kGguf, kTorchZip };

struct CheckpointFiles {
  FileKind kind = FileKind::kSafetensors;  // of all shards
  std::string folder;
  std::string index;                // path of the *.index.json; empty for a single file
  std::vector<std::string> shards;  // paths, ordered by name; never empty
  // From the index: tensor name -> position in `shards`.
  std::map<std::string, size_t, std::less<>> shard_of;
};

// The weight_map of a *.index.json: tensor name -> file name, none of which reaches out of the
// folder.
Result<std::map<std::string, std::string>> parse_shard_index(std::string_view text);

Result<CheckpointFiles> find_files(const std::string& path);

}  // namespace trilith::checkpoint
