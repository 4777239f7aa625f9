#include "transform/output_folder.h"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/output_file.h"

namespace trilith::transform {
namespace {

namespace fs = std::filesystem;

// Headers, JSON files and the tokenizer, generously.
constexpr uint64_t kRoomBesideTensors = uint64_t{16} << 20;

}  // namespace

Result<OutputFolder> OutputFolder::create(const std::string& path, uint64_t bytes) {
  std::error_code problem;
  fs::path target = fs::absolute(path, problem).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/"
  if (fs::exists(fs::symlink_status(target, problem))) {
    return Error::usage("the output exists already")
        .with_file(path)
        .with_hint("choose another name, or remove it first");
  }
  const fs::path parent = target.parent_path();
  if (!fs::is_directory(parent, problem)) {
    return Error::usage("the folder that the output would lie in does not exist")
        .with_file(parent.string());
  }
  const fs::space_info space = fs::space(parent, problem);
  if (!problem && space.available < bytes + kRoomBesideTensors) {
    return Error::runtime("the disk has too little room for the output")
        .with_file(parent.string())
        .with_expected(fmt::format("{} bytes", bytes + kRoomBesideTensors))
        .with_found(fmt::format("{} bytes", space.available));
  }
  std::string temporary = target.string() + ".tmp.XXXXXX";
  if (::mkdtemp(temporary.data()) == nullptr) {
    return Error::runtime(fmt::format("cannot write: {}", std::strerror(errno))).with_file(path);
  }
  return OutputFolder(target.string(), std::move(temporary));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

std::string OutputFolder::file(std::string_view name) const {
  return (fs::path(temporary_) / name).string();
}

Status OutputFolder::write_json(std::string_view name, const Json& json) const {
  return write_text_file(file(name), json.dump(2) + "\n");
}

Status OutputFolder::copy(const std::string& from, std::string_view name) const {
  std::error_code problem;
  fs::copy_file(from, file(name), problem);
  if (!problem) return {};
  return Error::runtime("cannot copy: " + problem.message()).with_file(from);
}

Status OutputFolder::commit() {
  // rename(2) replaces an empty folder that appeared meanwhile, and nothing else.
  if (::chmod(temporary_.c_str(), 0755) != 0 ||
      std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Error::runtime(fmt::format("cannot write: {}", std::strerror(errno))).with_file(path_);
  }
  temporary_.clear();
  return {};
}

Status OutputFolder::commit_file(std::string_view name) {
  if (std::rename(file(name).c_str(), path_.c_str()) == 0) return {};
  return Error::runtime(fmt::format("cannot write: {}", std::strerror(errno))).with_file(path_);
}

Result<SafetensorsFolder> SafetensorsFolder::create(const OutputFolder& folder,
                                                    std::vector<TensorToCome> tensors,
                                                    uint64_t shard_bytes, const Json& metadata) {
  SafetensorsFolder result(folder);
  result.tensors_ = std::move(tensors);
  result.metadata_ = metadata;
  uint64_t filled = 0;
  for (size_t i = 0; i < result.tensors_.size(); ++i) {
    const uint64_t bytes = result.tensors_[i].bytes;
    if (result.shards_.empty() || (filled > 0 && filled + bytes > shard_bytes)) {
      result.shards_.push_back({"", i, i});
      filled = 0;
    }
    filled += bytes;
    result.shards_.back().end = i + 1;
  }
  for (size_t i = 0; i < result.shards_.size(); ++i) {
    result.shards_[i].name =
        result.shards_.size() == 1
            ? "model.safetensors"
            : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, result.shards_.size());
  }
  return result;
}

Status SafetensorsFolder::open_shard() {
  const Shard& shard = shards_[shard_];
  auto writer = checkpoint::SafetensorsWriter::create(folder_->file(shard.name), metadata_);
  if (!writer.ok()) return std::move(writer).error();
  writer_.emplace(std::move(writer).value());
  for (size_t i = shard.begin; i < shard.end; ++i) {
    const TensorToCome& tensor = tensors_[i];
    TRILITH_RETURN_IF_ERROR(writer_->declare(tensor.name, tensor.dtype, tensor.shape));
  }
  return {};
}

Status SafetensorsFolder::write(std::string_view name, std::span<const std::byte> bytes) {
  TRILITH_CHECK(next_ < tensors_.size());
  TRILITH_CHECK(tensors_[next_].name == name && tensors_[next_].bytes == bytes.size());
  if (!writer_) TRILITH_RETURN_IF_ERROR(open_shard());
  TRILITH_RETURN_IF_ERROR(writer_->write(bytes));
  if (++next_ < shards_[shard_].end) return {};
  TRILITH_RETURN_IF_ERROR(writer_->finish());
  writer_.reset();
  ++shard_;
  return {};
}

Status SafetensorsFolder::finish() {
  TRILITH_CHECK(next_ == tensors_.size());
  if (shards_.size() < 2) return {};
  uint64_t total = 0;
  Json map = Json::object();
  for (const Shard& shard : shards_) {
    for (size_t i = shard.begin; i < shard.end; ++i) {
      total += tensors_[i].bytes;
      map.as_object()->emplace_back(tensors_[i].name, shard.name);
    }
  }
  return folder_->write_json("model.safetensors.index.json",
                             Json::object({{"metadata", Json::object({{"total_size", total}})},
                                           {"weight_map", std::move(map)}}));
}

}  // namespace trilith::transform
