#include "checkpoint/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/json.h"
#include "base/log.h"
#include "base/mapped_file.h"

namespace trilith::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSafetensorsName = "model.safetensors";
constexpr std::string_view kTorchName = "pytorch_model.bin";
constexpr std::string_view kIndexEnding = ".index.json";
constexpr std::string_view kSafetensorsEnding = ".safetensors";
constexpr std::string_view kGgufEnding = ".gguf";
constexpr std::string_view kTorchEndings[] = {".bin", ".pt", ".pth"};
// What trainers leave beside the weights, in the same container.
constexpr std::string_view kNoWeights[] = {"optimizer", "rng_state", "scaler", "scheduler",
                                           "training_args"};

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A shard is a plain file name: an index must not reach out of its folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The first bytes; fewer when the file is shorter, none when it cannot be read.
std::string first_bytes(const std::string& path) {
  std::string bytes(16, '\0');
  if (!is_regular(path)) return {};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

bool is_zip(std::string_view start) {
  return start.starts_with(std::string_view("PK\3\4", 4)) ||
         start.starts_with(std::string_view("PK\5\6", 4));
}

// torch.save before 1.6 (and with _use_new_zipfile_serialization=False): a pickle of a magic number
// first, then pickles and storages one after the other.
bool is_legacy_torch(std::string_view start) {
  return start.starts_with(std::string_view("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46", 8));
}

Result<FileKind> kind_of(const std::string& path) {
  const std::string start = first_bytes(path);
  if (start.starts_with("GGUF")) return FileKind::kGguf;
  if (is_zip(start)) return FileKind::kTorchZip;
  if (is_legacy_torch(start)) {
    return Error::unsupported("PyTorch files of the old format, without zip, are not read")
        .with_file(path)
        .with_hint("load it with torch.load(..., weights_only=True) and save it again");
  }
  return FileKind::kSafetensors;  // whose reader says what else the file may be
}

Result<CheckpointFiles> from_index(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  auto index = parse_shard_index(text);
  if (!index.ok()) return std::move(index).error().with_file(path);
  CheckpointFiles files;
  files.folder = folder_of(path);
  files.index = path;
  std::map<std::string, size_t> shards;
  for (const auto& [name, file] : *index) shards.emplace(file, 0);
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
  for (const auto& [name, file] : *index) files.shard_of.emplace(name, shards.at(file));
  TRILITH_ASSIGN_OR_RETURN(files.kind, kind_of(files.shards.front()));
  for (const std::string& shard : files.shards) {
    TRILITH_ASSIGN_OR_RETURN(const FileKind kind, kind_of(shard));
    if (kind != files.kind) {
      return Error::damaged("the shards are files of different kinds")
          .with_file(shard)
          .with_expected("a file like " + files.shards.front());
    }
  }
  return files;
}

// "stem-00002-of-00005.gguf": part 2 of 5.
struct SplitName {
  std::string stem;
  int part = 0;
  int parts = 0;

  std::string of_part(int number) const {
    return fmt::format("{}-{:05}-of-{:05}{}", stem, number, parts, kGgufEnding);
  }
};

std::optional<SplitName> split_name(std::string_view name) {
  if (!name.ends_with(kGgufEnding)) return std::nullopt;
  name.remove_suffix(kGgufEnding.size());
  constexpr size_t kTailSize = 15;  // "-00002-of-00005"
  if (name.size() <= kTailSize) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - kTailSize);
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), value);
    return problem == std::errc{} && end == digits.end() ? value : -1;
  };
  SplitName split{std::string(name.substr(0, name.size() - kTailSize)), number(tail.substr(1, 5)),
                  number(tail.substr(10, 5))};
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || split.part < 1 || split.parts < split.part) {
    return std::nullopt;
  }
  return split;
}

Result<CheckpointFiles> from_single(const std::string& path) {
  CheckpointFiles files;
  files.folder = folder_of(path);
  TRILITH_ASSIGN_OR_RETURN(files.kind, kind_of(path));
  const auto split = split_name(fs::path(path).filename().string());
  if (files.kind != FileKind::kGguf || !split) {
    files.shards = {path};
    return files;
  }
  for (int part = 1; part <= split->parts; ++part) {
    files.shards.push_back((fs::path(files.folder) / split->of_part(part)).string());
    if (!is_regular(files.shards.back())) {
      return Error::damaged("a part of the split file is missing")
          .with_file(files.shards.back())
          .with_expected(fmt::format("{} parts", split->parts))
          .with_hint("fetch the missing file");
    }
  }
  return files;
}

class Folder {
 public:
  static Result<Folder> list(const std::string& path) {
    Folder folder;
    folder.path_ = path;
    std::error_code problem;
    for (fs::directory_iterator entry(path, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      folder.names_.push_back(entry->path().filename().string());
    }
    if (problem) {
      return Error::runtime("cannot list the folder: " + problem.message()).with_file(path);
    }
    std::ranges::sort(folder.names_);
    return folder;
  }

  Result<CheckpointFiles> checkpoint() const {
    if (auto files = named(kSafetensorsName)) return std::move(*files);
    auto candidates =
        matching([](const std::string& name) { return name.ends_with(kSafetensorsEnding); });
    if (!candidates.empty()) return only(candidates, "safetensors");
    candidates = matching([](const std::string& name) {
      const auto split = split_name(name);
      return name.ends_with(kGgufEnding) && (!split || split->part == 1);
    });
    if (!candidates.empty()) return only(candidates, "GGUF");
    if (auto files = named(kTorchName)) return std::move(*files);
    candidates = matching([this](const std::string& name) { return holds_torch_weights(name); });
    if (!candidates.empty()) return only(candidates, "PyTorch");
    return Error::damaged("the folder holds no weights this program reads")
        .with_file(path_)
        .with_expected("*.safetensors, *.gguf, or *.bin, *.pt or *.pth of PyTorch");
  }

 private:
  bool present(const std::string& name) const { return std::ranges::binary_search(names_, name); }
  std::string full(const std::string& name) const { return (fs::path(path_) / name).string(); }

  // The index of `name`, or the file itself, when there is one.
  std::optional<Result<CheckpointFiles>> named(std::string_view name) const {
    const std::string single(name);
    const std::string index = single + std::string(kIndexEnding);
    if (!present(index)) {
      return present(single) ? std::optional(from_single(full(single))) : std::nullopt;
    }
    auto files = from_index(full(index));
    if (files.ok() && present(single) &&
        std::ranges::find(files->shards, full(single)) == files->shards.end()) {
      log_warning(fmt::format("{}: both {} and {} exist; the index is used", path_, index, single));
    }
    return files;
  }

  template <typename Predicate>
  std::vector<std::string> matching(Predicate predicate) const {
    std::vector<std::string> found;
    std::ranges::copy_if(names_, std::back_inserter(found), predicate);
    return found;
  }

  bool holds_torch_weights(const std::string& name) const {
    if (std::ranges::none_of(kTorchEndings, [&](auto ending) { return name.ends_with(ending); }) ||
        std::ranges::any_of(kNoWeights, [&](auto start) { return name.starts_with(start); })) {
      return false;
    }
    const std::string start = first_bytes(full(name));
    return is_zip(start) || is_legacy_torch(start);
  }

  Result<CheckpointFiles> only(const std::vector<std::string>& candidates,
                               std::string_view kind) const {
    if (candidates.size() > 1) {
      return Error::ambiguous(fmt::format("several {} files and no index", kind))
          .with_file(path_)
          .with_found(fmt::format("{}", fmt::join(candidates, ", ")))
          .with_hint("name one of them");
    }
    return from_single(full(candidates.front()));
  }

  std::string path_;
  std::vector<std::string> names_;  // sorted
};

}  // namespace

Result<std::map<std::string, std::string>> parse_shard_index(std::string_view text) {
  TRILITH_ASSIGN_OR_RETURN(const Json index, Json::parse(text, {.unique_keys = true}));
  const auto* map = index["weight_map"].as_object();
  if (map == nullptr || map->empty()) {
    return Error::damaged("the index has no weight_map")
        .with_expected("an object of tensor name to file name")
        .with_found(std::string(index["weight_map"].type_name()));
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : *map) {
    const std::string* file = value.as_string();
    if (file == nullptr || !is_plain_name(*file)) {
      return Error::damaged("the index names no plain file for this tensor")
          .with_tensor(name)
          .with_found(value.dump());
    }
    files.emplace(name, *file);
  }
  return files;
}

Result<CheckpointFiles> find_files(const std::string& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (!fs::exists(status)) {
    return Error::runtime("no such file or folder").with_file(path).with_hint("check the path");
  }
  if (fs::is_directory(status)) {
    TRILITH_ASSIGN_OR_RETURN(const Folder folder, Folder::list(path));
    return folder.checkpoint();
  }
  if (path.ends_with(kIndexEnding)) return from_index(path);
  return from_single(path);
}

}  // namespace trilith::checkpoint
