// Which files make up a checkpoint: finds them from a path and reads a shard index. No weights are
// opened here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace trilith::checkpoint {

struct CheckpointFiles {
  std::string folder;
  std::string index;                // path of the *.index.json; empty for a single file
  std::vector<std::string> shards;  // paths, ordered by name
  // From the index: tensor name -> position in `shards`.
  std::map<std::string, size_t, std::less<>> shard_of;
};

Result<CheckpointFiles> find_files(const std::string& path);

}  // namespace trilith::checkpoint
