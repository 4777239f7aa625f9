#include "checkpoint/torch_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/pickle.h"
#include "checkpoint/torch_tensor.h"
#include "checkpoint/zip_reader.h"

namespace trilith::checkpoint {
namespace {

using Kind = PickleValue::Kind;

constexpr uint64_t kMaxPickleBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxCopiedBytes = uint64_t{128} << 20;
constexpr size_t kMaxVisits = size_t{1} << 18;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNameBytes = 4096;
constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;  // names, and texts of the metadata
constexpr std::string_view kPickleEnding = "/data.pkl";
constexpr std::string_view kWrappers[] = {"state_dict", "model_state_dict", "model", "module"};

// The archive's files by name, without the folder that all of them lie in.
struct Archive {
  std::unordered_map<std::string, const ZipEntry*> files;

  const ZipEntry* find(const std::string& name) const {
    const auto found = files.find(name);
    return found != files.end() ? found->second : nullptr;
  }
};

Result<Archive> open_archive(const std::vector<ZipEntry>& entries) {
  const auto pickle = std::ranges::find_if(entries, [](const ZipEntry& entry) {
    return entry.name.ends_with(kPickleEnding) &&
           entry.name.find('/') == entry.name.size() - kPickleEnding.size();
  });
  if (pickle == entries.end()) {
    return Error::unsupported("the zip archive is no PyTorch checkpoint")
        .with_expected("an entry data.pkl in a folder of the archive")
        .with_found(entries.empty() ? "an empty archive" : "'" + entries.front().name + "' first");
  }
  const std::string folder =
      pickle->name.substr(0, pickle->name.size() - kPickleEnding.size()) + "/";
  Archive archive;
  for (const ZipEntry& entry : entries) {
    if (entry.name.starts_with(folder)) {
      archive.files.emplace(entry.name.substr(folder.size()), &entry);
    }
  }
  if (archive.find("constants.pkl") != nullptr) {
    return Error::unsupported("the file is a TorchScript program, not a checkpoint")
        .with_hint("save the state dict of the module");
  }
  for (const ZipEntry& entry : entries) {
    if (entry.method == 0) continue;
    return Error::unsupported("the entry '" + entry.name + "' of the zip archive is compressed")
        .with_expected("stored entries, as torch.save writes them")
        .with_found(
            fmt::format("method {}, {} bytes from {}", entry.method, entry.size, entry.data.size()))
        .with_hint("load the file with torch.load(..., weights_only=True) and save it again");
  }
  const ZipEntry* order = archive.find("byteorder");
  if (order != nullptr) {
    const std::string_view text(reinterpret_cast<const char*>(order->data.data()),
                                std::min<size_t>(order->data.size(), 16));
    if (!text.starts_with("little")) {
      return Error::unsupported("big-endian PyTorch files are not read")
          .with_found(std::string(text));
    }
  }
  return archive;
}

// Walks the saved value and collects tensors, and numbers and texts beside them.
class Collector {
 public:
  Collector(const Pickle& pickle, const Archive& archive) : pickle_(pickle), archive_(archive) {
    content_.metadata = Json::object();
  }

  Result<TorchContent> collect() {
    TRILITH_ASSIGN_OR_RETURN(const std::optional<uint32_t> wrapped, wrapped_root());
    visits_ = 0;
    const PickleValue& root = pickle_.at(pickle_.root);
    if (wrapped) {
      TRILITH_RETURN_IF_ERROR(visit(*wrapped, "", 0));
      for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
        if (root.items[i + 1] == *wrapped) continue;
        TRILITH_ASSIGN_OR_RETURN(const std::string key, key_text(pickle_.at(root.items[i])));
        TRILITH_RETURN_IF_ERROR(visit(root.items[i + 1], key, 1));
      }
    } else {
      TRILITH_RETURN_IF_ERROR(visit(pickle_.root, "", 0));
    }
    return std::move(content_);
  }

 private:
  // The member of the root under which alone tensors lie, when it has the name of a wrapper.
  Result<std::optional<uint32_t>> wrapped_root() {
    const PickleValue& root = pickle_.at(pickle_.root);
    std::optional<uint32_t> wrapped;
    if (root.kind != Kind::kDict) return wrapped;
    for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
      TRILITH_ASSIGN_OR_RETURN(const bool holds, holds_tensors(root.items[i + 1], 1));
      if (!holds) continue;
      const PickleValue& value = pickle_.at(root.items[i + 1]);
      if (wrapped || value.kind != Kind::kDict ||
          std::ranges::find(kWrappers, pickle_.at(root.items[i]).text) == std::end(kWrappers)) {
        return std::optional<uint32_t>();
      }
      wrapped = root.items[i + 1];
    }
    return wrapped;
  }

  Status enter(size_t depth) {
    // Values may be shared, so what is small in the file can be endless to walk.
    if (depth > kMaxDepth) return Error::damaged("the pickle is nested too deeply");
    if (++visits_ > kMaxVisits) return Error::damaged("the pickle holds too many values");
    return {};
  }

  Result<bool> holds_tensors(uint32_t index, size_t depth) {
    TRILITH_RETURN_IF_ERROR(enter(depth));
    const PickleValue& value = pickle_.at(index);
    if (is_torch_tensor(pickle_, value)) return true;
    if (value.kind != Kind::kDict && value.kind != Kind::kList && value.kind != Kind::kTuple) {
      return false;
    }
    for (const uint32_t item : value.items) {
      TRILITH_ASSIGN_OR_RETURN(const bool holds, holds_tensors(item, depth + 1));
      if (holds) return true;
    }
    return false;
  }

  static Result<std::string> key_text(const PickleValue& key) {
    if (key.kind == Kind::kText) return std::string(key.text);
    if (key.kind == Kind::kInteger) return fmt::format("{}", key.integer);
    return Error::unsupported("a key of the pickle is neither text nor number");
  }

  Status visit(uint32_t index, const std::string& path, size_t depth) {
    TRILITH_RETURN_IF_ERROR(enter(depth));
    if (path.size() > kMaxNameBytes) return Error::damaged("the name of a tensor is too long");
    const PickleValue& value = pickle_.at(index);
    const auto below = [&](const std::string& key) {
      return path.empty() ? key : fmt::format("{}.{}", path, key);
    };
    switch (value.kind) {
      case Kind::kDict:
        for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
          TRILITH_ASSIGN_OR_RETURN(const std::string key, key_text(pickle_.at(value.items[i])));
          TRILITH_RETURN_IF_ERROR(visit(value.items[i + 1], below(key), depth + 1));
        }
        return {};
      case Kind::kList:
      case Kind::kTuple:
        for (size_t i = 0; i < value.items.size(); ++i) {
          TRILITH_RETURN_IF_ERROR(visit(value.items[i], below(fmt::format("{}", i)), depth + 1));
        }
        return {};
      case Kind::kCall: {
        if (!is_torch_tensor(pickle_, value)) return {};  // a size, a device
        const std::string name = path.empty() ? "tensor" : path;
        Status status = add_tensor(value, name);
        if (!status.ok()) return std::move(status).error().with_tensor(name);
        return {};
      }
      case Kind::kBool:
        return note(path, value.truth);
      case Kind::kInteger:
        return note(path, value.integer);
      case Kind::kFloat:
        return note(path, value.number);
      case Kind::kText:
        TRILITH_RETURN_IF_ERROR(count_text(value.text.size()));
        return note(path, value.text);
      case Kind::kNone:
      case Kind::kGlobal:
      case Kind::kPersistent:
        return {};
    }
    return {};
  }

  // One long text of the pickle may be used a million times.
  Status count_text(uint64_t bytes) {
    text_bytes_ += bytes;
    if (text_bytes_ <= kMaxTextBytes) return {};
    return Error::damaged("the pickle holds too much text");
  }

  Status note(const std::string& path, Json value) {
    TRILITH_RETURN_IF_ERROR(count_text(path.size()));
    content_.metadata.as_object()->emplace_back(path, std::move(value));
    return {};
  }

  Status add_tensor(const PickleValue& call, const std::string& path) {
    TRILITH_RETURN_IF_ERROR(count_text(path.size()));
    if (!names_.insert(path).second) return Error::damaged("the tensor is there twice");
    TRILITH_ASSIGN_OR_RETURN(const TorchTensor tensor, torch_tensor(pickle_, call));
    const uint64_t size = dtype_size(tensor.dtype);
    const uint64_t span = tensor.span();
    TensorView view{path, tensor.dtype, tensor.shape, {}};
    if (span > 0) {
      const ZipEntry* storage = archive_.find(fmt::format("data/{}", tensor.storage));
      if (storage == nullptr) {
        return Error::damaged("the storage of the tensor is not in the file")
            .with_expected(fmt::format("an entry data/{}", tensor.storage));
      }
      if (tensor.offset + span > storage->data.size() / size) {
        return Error::damaged("the tensor reaches beyond its storage")
            .with_expected(fmt::format("at most {} bytes", storage->data.size()))
            .with_found(fmt::format("{} from {}, strides {}, {}", shape_string(tensor.shape),
                                    tensor.offset, shape_string(tensor.stride),
                                    dtype_name(tensor.dtype)));
      }
      const auto bytes = storage->data.subspan(tensor.offset * size, span * size);
      if (tensor.is_contiguous()) {
        view.bytes = bytes;
      } else {
        TRILITH_RETURN_IF_ERROR(copy(tensor, bytes, view));
      }
    }
    content_.tensors.push_back(std::move(view));
    return {};
  }

  Status copy(const TorchTensor& tensor, std::span<const std::byte> bytes, TensorView& view) {
    TRILITH_ASSIGN_OR_RETURN(const uint64_t needed, byte_count(tensor.dtype, tensor.shape));
    if (needed > kMaxCopiedBytes - copied_) {
      return Error::unsupported("the tensors that do not lie in row-major order are too large")
          .with_expected(fmt::format("at most {} bytes in all", kMaxCopiedBytes))
          .with_found(
              fmt::format("{} bytes, strides {}", copied_ + needed, shape_string(tensor.stride)))
          .with_hint("save tensor.contiguous(), or save as safetensors");
    }
    copied_ += needed;
    content_.copies.push_back(
        std::make_shared<const std::vector<std::byte>>(gather(tensor, bytes)));
    view.bytes = *content_.copies.back();
    return {};
  }

  const Pickle& pickle_;
  const Archive& archive_;
  TorchContent content_;
  std::unordered_set<std::string> names_;
  size_t visits_ = 0;
  uint64_t copied_ = 0;
  uint64_t text_bytes_ = 0;
};

Result<TorchContent> parse(std::span<const std::byte> bytes) {
  TRILITH_ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries, parse_zip(bytes));
  TRILITH_ASSIGN_OR_RETURN(const Archive archive, open_archive(entries));
  const ZipEntry& entry = *archive.find("data.pkl");
  if (entry.data.size() > kMaxPickleBytes) {
    return Error::damaged("the pickle is too large")
        .with_expected(fmt::format("at most {} bytes", kMaxPickleBytes))
        .with_found(fmt::format("{}", entry.data.size()));
  }
  // Writers may leave checksums out (torch.serialization.set_crc32_options).
  if (entry.crc32 != 0 && entry.crc32 != crc32_of(entry.data)) {
    return Error::damaged("data.pkl does not have the checksum the archive says")
        .with_hint("the file is damaged: fetch it again");
  }
  auto pickle = parse_pickle(entry.data, torch_callables());
  if (!pickle.ok()) {
    // Offsets into the pickle become offsets into the file.
    Error error = std::move(pickle).error();
    const auto start = static_cast<uint64_t>(entry.data.data() - bytes.data());
    const uint64_t at = start + error.offset.value_or(0);
    return std::move(error).with_offset(at);
  }
  return Collector(*pickle, archive).collect();
}

}  // namespace

Result<TorchContent> parse_torch(std::span<const std::byte> bytes, const std::string& file) {
  auto content = parse(bytes);
  if (!content.ok()) return std::move(content).error().with_file(file);
  return content;
}

}  // namespace trilith::checkpoint
