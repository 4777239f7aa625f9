#include "checkpoint/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/log.h"
#include "base/mapped_file.h"

namespace trilith::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kIndexEnding = ".index.json";
constexpr std::string_view kSafetensorsEnding = ".safetensors";

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A shard is a plain file name: an index must not reach out of its folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

Result<CheckpointFiles> from_index(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  auto index = Json::parse(text, {.unique_keys = true});
  if (!index.ok()) return std::move(index).error().with_file(path);
  const auto* map = (*index)["weight_map"].as_object();
  if (map == nullptr || map->empty()) {
    return Error::damaged("the index has no weight_map")
        .with_file(path)
        .with_expected("an object of tensor name to file name")
        .with_found(std::string((*index)["weight_map"].type_name()));
  }
  CheckpointFiles files{.folder = folder_of(path), .index = path, .shards = {}, .shard_of = {}};
  std::map<std::string, size_t> shards;
  for (const auto& [name, value] : *map) {
    const std::string* file = value.as_string();
    if (file == nullptr || !is_plain_name(*file)) {
      return Error::damaged("the index names no plain file for this tensor")
          .with_file(path)
          .with_tensor(name)
          .with_found(value.dump());
    }
    shards.emplace(*file, 0);
  }
  for (auto& [name, position] : shards) {
    position = files.shards.size();
    files.shards.push_back((fs::path(files.folder) / name).string());
    std::error_code ignored;
    if (!fs::exists(files.shards.back(), ignored)) {
      return Error::damaged("a shard is missing")
          .with_file(files.shards.back())
          .with_expected(fmt::format("{} files, as {} lists them", shards.size(), path))
          .with_hint("fetch the missing file");
    }
  }
  for (const auto& [name, value] : *map) {
    files.shard_of.emplace(name, shards.at(*value.as_string()));
  }
  return files;
}

CheckpointFiles from_single(const std::string& path) {
  return {.folder = folder_of(path), .index = {}, .shards = {path}, .shard_of = {}};
}

// No safetensors at all: say what is there in place of them.
Error nothing_found(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.ends_with(".gguf") || name.ends_with(".bin") || name.ends_with(".pt") ||
        name.ends_with(".pth")) {
      return Error::unsupported("the folder holds no safetensors file")
          .with_file(folder)
          .with_found(name)
          .with_hint("convert the weights to safetensors first");
    }
  }
  return Error::damaged("the folder holds no safetensors file")
      .with_file(folder)
      .with_expected(fmt::format("{} or {}", kSingleName, kIndexName));
}

Result<CheckpointFiles> from_folder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    names.push_back(entry->path().filename().string());
  }
  if (problem) {
    return Error::runtime("cannot list the folder: " + problem.message()).with_file(folder);
  }
  std::ranges::sort(names);
  const auto present = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto full = [&](std::string_view name) { return (fs::path(folder) / name).string(); };
  if (present(kIndexName)) {
    TRILITH_ASSIGN_OR_RETURN(CheckpointFiles files, from_index(full(kIndexName)));
    if (present(kSingleName) &&
        std::ranges::find(files.shards, full(kSingleName)) == files.shards.end()) {
      log_warning(fmt::format("{}: both {} and {} exist; the index is used", folder, kIndexName,
                              kSingleName));
    }
    return files;
  }
  if (present(kSingleName)) return from_single(full(kSingleName));
  std::vector<std::string> candidates;
  std::ranges::copy_if(names, std::back_inserter(candidates),
                       [](const std::string& name) { return name.ends_with(kSafetensorsEnding); });
  if (candidates.empty()) return nothing_found(folder, names);
  if (candidates.size() > 1) {
    return Error::ambiguous("several safetensors files and no index")
        .with_file(folder)
        .with_found(fmt::format("{}", fmt::join(candidates, ", ")))
        .with_hint(fmt::format("name one of them, or add {}", kIndexName));
  }
  return from_single(full(candidates.front()));
}

}  // namespace

Result<CheckpointFiles> find_files(const std::string& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) {
    return Error::runtime("no such file or folder").with_file(path).with_hint("check the path");
  }
  if (fs::is_directory(status)) return from_folder(path);
  if (path.ends_with(kIndexEnding)) return from_index(path);
  return from_single(path);
}

}  // namespace trilith::checkpoint
