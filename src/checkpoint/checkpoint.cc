#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "checkpoint/discovery.h"
#include "checkpoint/gguf_model.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_reader.h"

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
  std::vector<GgmlClaim> claims;  // of tensors[i]; empty unless GGUF
};

Status check_unique(const CheckpointFiles& files, const Collected& all) {
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    const auto [entry, fresh] = seen.emplace(all.tensors[i].name, all.file_index[i]);
    if (!fresh) {
      return Error::damaged("the tensor lies in two shards")
          .with_file(files.shards[all.file_index[i]])
          .with_tensor(all.tensors[i].name)
          .with_found("also in " + files.shards[entry->second]);
    }
  }
  return {};
}

// The index and the shards must tell the same story, both ways.
Status check_against_index(const CheckpointFiles& files, const Collected& all) {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < all.tensors.size(); ++i) {
    const std::string& name = all.tensors[i].name;
    const std::string& shard = files.shards[all.file_index[i]];
    seen.insert(name);
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

Container container_of(const CheckpointFiles& files) {
  const bool sharded = !files.index.empty() || files.shards.size() > 1;
  switch (files.kind) {
    case FileKind::kGguf:
      return sharded ? Container::kGgufSharded : Container::kGguf;
    case FileKind::kTorchZip:
      return sharded ? Container::kTorchZipSharded : Container::kTorchZip;
    case FileKind::kSafetensors:
      break;
  }
  return sharded ? Container::kSafetensorsSharded : Container::kSafetensors;
}

}  // namespace

std::string_view container_name(Container container) {
  switch (container) {
    case Container::kSafetensors:
      return "safetensors";
    case Container::kSafetensorsSharded:
      return "safetensors-sharded";
    case Container::kGguf:
      return "gguf";
    case Container::kGgufSharded:
      return "gguf-sharded";
    case Container::kTorchZip:
      return "torch-zip";
    case Container::kTorchZipSharded:
      return "torch-zip-sharded";
  }
  return "";
}

Result<Checkpoint> Checkpoint::open(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const CheckpointFiles files, find_files(path));
  Checkpoint checkpoint;
  checkpoint.folder_ = files.folder;
  checkpoint.metadata_ = Json::object();
  Collected all;
  std::unordered_set<std::string> keys;
  const auto keep = [&](Json&& metadata) {
    for (auto& [key, value] : *metadata.as_object()) {
      if (!keys.insert(key).second) continue;  // the first shard that says something is believed
      checkpoint.metadata_.as_object()->emplace_back(key, std::move(value));
    }
  };
  for (size_t i = 0; i < files.shards.size(); ++i) {
    TRILITH_ASSIGN_OR_RETURN(MappedFile opened, MappedFile::open(files.shards[i]));
    checkpoint.files_.push_back(std::make_shared<const MappedFile>(std::move(opened)));
    const MappedFile& file = *checkpoint.files_.back();
    std::vector<TensorView> tensors;
    if (files.kind == FileKind::kGguf) {
      TRILITH_ASSIGN_OR_RETURN(GgufContent content, parse_gguf(file.bytes(), file.path()));
      keep(std::move(content.metadata));
      if (i == 0) checkpoint.arrays_ = std::move(content.arrays);
      std::ranges::move(content.claims, std::back_inserter(all.claims));
      tensors = std::move(content.tensors);
    } else if (files.kind == FileKind::kTorchZip) {
      TRILITH_ASSIGN_OR_RETURN(TorchContent content, parse_torch(file.bytes(), file.path()));
      keep(std::move(content.metadata));
      std::ranges::move(content.copies, std::back_inserter(checkpoint.copies_));
      tensors = std::move(content.tensors);
    } else {
      TRILITH_ASSIGN_OR_RETURN(auto content, parse_safetensors(file.bytes(), file.path()));
      keep(std::move(content.metadata));
      tensors = std::move(content.tensors);
    }
    all.file_index.insert(all.file_index.end(), tensors.size(), i);
    std::ranges::move(tensors, std::back_inserter(all.tensors));
  }
  checkpoint.container_ = container_of(files);
  TRILITH_RETURN_IF_ERROR(check_unique(files, all));
  if (!files.index.empty()) TRILITH_RETURN_IF_ERROR(check_against_index(files, all));

  std::vector<size_t> order(all.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) -> const std::string& { return all.tensors[i].name; });
  for (const size_t i : order) {
    checkpoint.tensors_.push_back(std::move(all.tensors[i]));
    checkpoint.file_index_.push_back(all.file_index[i]);
    if (!all.claims.empty()) checkpoint.claims_.push_back(std::move(all.claims[i]));
  }
  TRILITH_RETURN_IF_ERROR(checkpoint.read_config());
  TRILITH_ASSIGN_OR_RETURN(checkpoint.generation_config_,
                           checkpoint.side_json("generation_config.json"));
  return checkpoint;
}

Status Checkpoint::read_config() {
  if (!claims_.empty()) {
    auto config = gguf_config(metadata_, arrays_, tensors_);
    if (config.ok()) {
      config_ = std::move(config).value();
      return {};
    }
    log_debug("no config from the keys of the GGUF file: " + config.error().to_string());
  }
  TRILITH_ASSIGN_OR_RETURN(config_, side_json("config.json"));
  return {};
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

const GgufArray* Checkpoint::gguf_array(std::string_view key) const {
  const auto found = std::ranges::find(arrays_, key, &GgufArray::key);
  return found != arrays_.end() ? &*found : nullptr;
}

const GgmlClaim* Checkpoint::ggml_claim(std::string_view name) const {
  const TensorView* tensor = find(name);
  if (tensor == nullptr || claims_.empty()) return nullptr;
  return &claims_[static_cast<size_t>(tensor - tensors_.data())];
}

Result<Json> Checkpoint::side_json(const std::string& name) const {
  TRILITH_CHECK(fs::path(name).filename() == name);
  return optional_object((fs::path(folder_) / name).string());
}

}  // namespace trilith::checkpoint
