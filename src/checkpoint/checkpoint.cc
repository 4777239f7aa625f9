#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unordered_set>

#include "checkpoint/discovery.h"
#include "checkpoint/safetensors.h"

namespace trilith::checkpoint {
namespace {

namespace fs = std::filesystem;

// Null when the file does not exist.
Result<Json> optional_object(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return Json();
  TRILITH_ASSIGN_OR_RETURN(Json json, read_json_file(path));
  if (!json.is_object()) {
    return Error::damaged("the file holds no JSON object")
        .with_file(path)
        .with_found(std::string(json.type_name()));
  }
  return json;
}

// Tensors of all shards before they are ordered by name.
struct Collected {
  std::vector<TensorView> tensors;
  std::vector<size_t> file_index;
};

// The index and the shards must tell the same story, both ways.
Status check_against_index(const CheckpointFiles& files, const Collected& all) {
  std::map<std::string_view, size_t> seen;
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    const std::string& name = all.tensors[i].name;
    const std::string& shard = files.shards[all.file_index[i]];
    const auto [entry, fresh] = seen.emplace(name, all.file_index[i]);
    if (!fresh) {
      return Error::damaged("the tensor lies in two shards")
          .with_file(shard)
          .with_tensor(name)
          .with_found("also in " + files.shards[entry->second]);
    }
    const auto listed = files.shard_of.find(name);
    if (listed == files.shard_of.end()) {
      return Error::damaged("the index does not list this tensor")
          .with_file(shard)
          .with_tensor(name)
          .with_expected("an entry in " + files.index);
    }
    if (listed->second != all.file_index[i]) {
      return Error::damaged("the tensor lies in another shard than the index says")
          .with_file(shard)
          .with_tensor(name)
          .with_expected(files.shards[listed->second])
          .with_found(shard);
    }
  }
  for (const auto& [name, shard] : files.shard_of) {
    if (!seen.contains(name)) {
      return Error::damaged("the shard does not hold this tensor")
          .with_file(files.shards[shard])
          .with_tensor(name)
          .with_expected("the tensor that " + files.index + " lists here");
    }
  }
  return {};
}

}  // namespace

std::string_view container_name(Container container) {
  return container == Container::kSafetensors ? "safetensors" : "safetensors-sharded";
}

Result<Checkpoint> Checkpoint::open(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const CheckpointFiles files, find_files(path));
  Checkpoint checkpoint;
  checkpoint.folder_ = files.folder;
  checkpoint.container_ =
      files.index.empty() ? Container::kSafetensors : Container::kSafetensorsSharded;
  checkpoint.metadata_ = Json::object();
  Collected all;
  std::unordered_set<std::string> keys;
  for (size_t i = 0; i < files.shards.size(); ++i) {
    TRILITH_ASSIGN_OR_RETURN(MappedFile opened, MappedFile::open(files.shards[i]));
    checkpoint.files_.push_back(std::make_shared<const MappedFile>(std::move(opened)));
    const MappedFile& file = *checkpoint.files_.back();
    TRILITH_ASSIGN_OR_RETURN(auto content, parse_safetensors(file.bytes(), file.path()));
    for (auto& [key, value] : *content.metadata.as_object()) {
      if (!keys.insert(key).second) continue;  // the first shard that says something is believed
      checkpoint.metadata_.as_object()->emplace_back(key, std::move(value));
    }
    all.file_index.insert(all.file_index.end(), content.tensors.size(), i);
    std::ranges::move(content.tensors, std::back_inserter(all.tensors));
  }
  if (!files.index.empty()) TRILITH_RETURN_IF_ERROR(check_against_index(files, all));

  std::vector<size_t> order(all.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) -> const std::string& { return all.tensors[i].name; });
  for (const size_t i : order) {
    checkpoint.tensors_.push_back(std::move(all.tensors[i]));
    checkpoint.file_index_.push_back(all.file_index[i]);
  }
  const fs::path folder(files.folder);
  TRILITH_ASSIGN_OR_RETURN(checkpoint.config_, optional_object((folder / "config.json").string()));
  TRILITH_ASSIGN_OR_RETURN(checkpoint.generation_config_,
                           optional_object((folder / "generation_config.json").string()));
  return checkpoint;
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &TensorView::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const std::string& Checkpoint::file_of(std::string_view name) const {
  const TensorView* tensor = find(name);
  if (tensor == nullptr) return folder_;
  return files_[file_index_[static_cast<size_t>(tensor - tensors_.data())]]->path();
}

}  // namespace trilith::checkpoint
