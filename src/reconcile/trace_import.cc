#include "reconcile/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "base/mapped_file.h"
#include "checkpoint/npy_reader.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/torch_reader.h"

namespace trilith::reconcile {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 200'000;
constexpr int kMaxDepth = 16;
constexpr std::string_view kIds = "ids";
// What torch_reader calls a tensor that is the whole file.
constexpr std::string_view kBare = "tensor";

struct DumpFile {
  std::string path;
  std::string stem;  // from the folder, without the ending: "layer0/attn_q"
};

// The tensors of one file, as long as it lives.
struct OpenFile {
  std::shared_ptr<const MappedFile> map;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> copies;
  std::vector<TensorView> tensors;  // an array of .npy has no name
};

bool is_dump(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".npy" || ending == ".pt" || ending == ".pth" || ending == ".safetensors";
}

Result<std::vector<DumpFile>> dump_files(const std::string& folder) {
  std::error_code problem;
  std::vector<DumpFile> files;
  if (fs::is_regular_file(folder, problem)) {
    return std::vector<DumpFile>{{folder, fs::path(folder).stem().string()}};
  }
  fs::recursive_directory_iterator entry(folder, problem);
  for (const fs::recursive_directory_iterator end; !problem && entry != end;
       entry.increment(problem)) {
    if (entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    if (!entry->is_regular_file(problem) || !is_dump(entry->path())) continue;
    fs::path stem = fs::relative(entry->path(), folder, problem);
    files.push_back({entry->path().string(), stem.replace_extension().generic_string()});
    if (files.size() > kMaxFiles) {
      return Error::unsupported(fmt::format("the dump has more than {} files", kMaxFiles))
          .with_file(folder);
    }
  }
  if (problem) return Error::runtime(problem.message()).with_file(folder);
  if (files.empty()) {
    return Error::usage("the dump has no file that is read")
        .with_file(folder)
        .with_expected(".npy, .pt, .pth or .safetensors");
  }
  std::sort(files.begin(), files.end(),
            [](const DumpFile& a, const DumpFile& b) { return a.path < b.path; });
  return files;
}

Result<OpenFile> open_dump(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(path));
  OpenFile file;
  file.map = std::make_shared<const MappedFile>(std::move(mapped));
  const auto bytes = file.map->bytes();
  if (path.ends_with(".npy")) {
    TRILITH_ASSIGN_OR_RETURN(checkpoint::NpyContent content, checkpoint::parse_npy(bytes, path));
    file.tensors.push_back(std::move(content.tensor));
    if (content.copy) file.copies.push_back(std::move(content.copy));
  } else if (path.ends_with(".safetensors")) {
    TRILITH_ASSIGN_OR_RETURN(checkpoint::SafetensorsContent content,
                             checkpoint::parse_safetensors(bytes, path));
    file.tensors = std::move(content.tensors);
  } else {
    TRILITH_ASSIGN_OR_RETURN(checkpoint::TorchContent content,
                             checkpoint::parse_torch(bytes, path));
    file.tensors = std::move(content.tensors);
    file.copies = std::move(content.copies);
  }
  return file;
}

// Names under which a map may know a tensor, the fullest first.
std::vector<std::string> names_of(const std::string& stem, const std::string& tensor) {
  if (tensor.empty() || tensor == kBare) return {stem};
  std::vector<std::string> names;
  names.push_back(fmt::format("{}.{}", stem, tensor));
  names.push_back(tensor);
  if (tensor == "0") names.push_back(stem);  // a module that returned a tuple
  return names;
}

struct Found {
  const DumpFile* file = nullptr;
  size_t tensor = 0;  // in the file
  std::string name;
  DumpPlace place;
};

// Where the rows of one prompt lie.
struct RowLayout {
  TensorView part;  // of this prompt, [T, cols] or, heads first, [heads, T, cols / heads]
  int64_t cols = 0;
  int64_t heads = 0;  // 0: rows lie one after the other
};

Error bad_shape(const TensorView& tensor, std::string message, int64_t tokens) {
  return Error::damaged(std::move(message))
      .with_expected(fmt::format("one row for each of the {} tokens", tokens))
      .with_found(shape_string(tensor.shape));
}

// The rows of one prompt: `batch` prompts lie in the tensor and this is number `index`.
Result<RowLayout> row_layout(const TensorView& tensor, int64_t tokens, int64_t batch,
                             int64_t index) {
  Shape shape = tensor.shape;
  RowLayout layout{tensor, 0, 0};
  const auto count = static_cast<int64_t>(tensor.count());
  if (batch == 1 && tokens == 1 && count > 0) {  // one row, however it is written
    layout.cols = count;
    return layout;
  }
  if (shape.size() >= 3 && shape[0] == batch) {
    const size_t bytes = tensor.bytes.size() / static_cast<size_t>(batch);
    layout.part.bytes = tensor.bytes.subspan(static_cast<size_t>(index) * bytes, bytes);
    shape.erase(shape.begin());
  } else if (batch > 1) {
    return bad_shape(tensor, fmt::format("the tensor does not hold {} prompts", batch), tokens)
        .with_hint("a batch has the shape [B, T, …]; or name one file a prompt with {p}");
  }
  if (tokens == 0 || count == 0) return bad_shape(tensor, "the tensor is empty", tokens);
  const bool heads_first = shape.size() == 3 && shape[1] == tokens && shape[0] != tokens;
  if (shape.size() == 3 && shape[0] == tokens && shape[1] == tokens && tokens > 1) {
    return bad_shape(tensor, "as many heads as tokens: either could stand first", tokens)
        .with_hint("dump the tensor as [T, heads * head_dim], or another number of tokens");
  }
  if (shape.size() < 2 || (shape[0] != tokens && !heads_first)) {
    Error error = bad_shape(tensor, "the tensor has not one row a token", tokens);
    if (shape.size() == 2 && shape[1] == tokens) {
      return std::move(error).with_hint("it looks transposed; nothing is transposed on suspicion");
    }
    return std::move(error).with_hint("leave it out of the map, or dump it for all tokens");
  }
  layout.cols = static_cast<int64_t>(layout.part.count()) / tokens;
  if (heads_first) layout.heads = shape[0];
  return layout;
}

// [T, cols] of values that lie as the layout says.
template <typename T>
std::vector<T> arranged(const RowLayout& layout, int64_t tokens, std::vector<T> values) {
  if (layout.heads == 0) return values;
  const int64_t size = layout.cols / layout.heads;
  std::vector<T> rows(values.size());
  for (int64_t h = 0; h < layout.heads; ++h) {
    for (int64_t t = 0; t < tokens; ++t) {
      std::copy_n(values.begin() + (h * tokens + t) * size, size,
                  rows.begin() + (t * layout.heads + h) * size);
    }
  }
  return rows;
}

Result<std::vector<int32_t>> to_integers(const TensorView& tensor) {
  std::vector<int32_t> values(is_integer(tensor.dtype) ? tensor.count() : 0);
  bool fits = is_integer(tensor.dtype);
  for (size_t i = 0; fits && i < values.size(); ++i) {
    const double value = element_as_double(tensor, i);
    fits = value >= INT32_MIN && value <= INT32_MAX;
    if (fits) values[i] = static_cast<int32_t>(value);
  }
  if (fits) return values;
  return Error::unsupported("activation codes and sums must be integers of 32 bits at most")
      .with_found(std::string(dtype_name(tensor.dtype)));
}

class Import {
 public:
  Import(const std::string& folder, const TraceMap& map, const ImportOptions& options)
      : folder_(folder), map_(map), options_(options), writer_(options.trace) {}

  Result<ImportReport> run(const std::string& output) {
    TRILITH_ASSIGN_OR_RETURN(files_, dump_files(folder_));
    TRILITH_RETURN_IF_ERROR(find_tensors());
    TRILITH_RETURN_IF_ERROR(read_ids());
    for (size_t prompt = 0; prompt < ids_.size(); ++prompt) {
      writer_.begin_prompt(ids_[prompt]);
      for (const Found& found : found_) {
        TRILITH_RETURN_IF_ERROR(add(found, static_cast<int64_t>(prompt)));
      }
    }
    report_.prompts = static_cast<int64_t>(ids_.size());
    TRILITH_RETURN_IF_ERROR(writer_.write(output, description()));
    return std::move(report_);
  }

 private:
  Status find_tensors() {
    std::map<std::pair<int64_t, std::string>, std::string> taken;
    for (const DumpFile& file : files_) {
      TRILITH_ASSIGN_OR_RETURN(const OpenFile open, open_dump(file.path));
      for (size_t i = 0; i < open.tensors.size(); ++i) {
        const std::vector<std::string> names = names_of(file.stem, open.tensors[i].name);
        std::optional<DumpPlace> place;
        for (const std::string& name : names) {
          if (!place) place = map_.find(name);
        }
        if (!place) {
          report_.unknown.push_back(names.front());
          continue;
        }
        const auto [other, fresh] =
            taken.emplace(std::pair(place->prompt, place->point), names.front());
        if (!fresh) {
          return Error::ambiguous(fmt::format("'{}' and '{}' are both the point {}", other->second,
                                              names.front(), place->point))
              .with_file(file.path)
              .with_hint("say which with --map FILE (docs/TRACES.md)");
        }
        found_.push_back({&file, i, names.front(), *place});
      }
    }
    const bool any = std::any_of(found_.begin(), found_.end(),
                                 [](const Found& found) { return found.place.point != kIds; });
    if (any) return {};
    return Error::unsupported("the map knows no tensor of the dump")
        .with_file(folder_)
        .with_expected(map_.examples())
        .with_found(report_.unknown.empty() ? "token ids alone"
                                            : fmt::format("'{}'", report_.unknown.front()))
        .with_hint("write a map and give it with --map FILE (docs/TRACES.md)");
  }

  Status read_ids() {
    std::map<int64_t, std::vector<int32_t>> by_prompt;
    for (const Found& found : found_) {
      if (found.place.point != kIds) continue;
      TRILITH_ASSIGN_OR_RETURN(const OpenFile open, open_dump(found.file->path));
      const TensorView& tensor = open.tensors[found.tensor];
      Status status = take_ids(tensor, found.place, by_prompt);
      if (!status.ok()) return std::move(status).error().with_file(found.file->path);
    }
    std::erase_if(found_, [](const Found& found) { return found.place.point == kIds; });
    if (!options_.ids.empty()) {
      ids_ = options_.ids;
    } else {
      for (auto& [prompt, ids] : by_prompt) {
        if (prompt != static_cast<int64_t>(ids_.size())) break;
        ids_.push_back(std::move(ids));
      }
    }
    if (ids_.empty()) {
      return Error::usage("the dump has no token ids")
          .with_file(folder_)
          .with_expected("a tensor 'input_ids' or --ids FILE")
          .with_hint("a trace is compared at its tokens");
    }
    for (const Found& found : found_) {
      if (found.place.prompt < static_cast<int64_t>(ids_.size())) continue;
      return Error::damaged(fmt::format("prompt {} has no token ids", found.place.prompt))
          .with_file(found.file->path);
    }
    return {};
  }

  static Status take_ids(const TensorView& tensor, const DumpPlace& place,
                         std::map<int64_t, std::vector<int32_t>>& by_prompt) {
    const Shape& shape = tensor.shape;
    const int64_t batch = shape.size() == 2 ? shape[0] : 1;
    const bool fits = (shape.size() == 1 || shape.size() == 2) && is_integer(tensor.dtype) &&
                      (batch == 1 || !place.names_prompt) && tensor.count() > 0;
    if (!fits) {
      return Error::damaged("token ids must be integers [T] or [B, T]")
          .with_found(fmt::format("{} {}", dtype_name(tensor.dtype), shape_string(shape)));
    }
    const int64_t tokens = shape.back();
    for (int64_t i = 0; i < batch * tokens; ++i) {
      const double id = element_as_double(tensor, static_cast<uint64_t>(i));
      if (id < 0 || id > INT32_MAX) {
        return Error::damaged("a token id is out of range").with_found(fmt::format("{}", id));
      }
      by_prompt[place.prompt + i / tokens].push_back(static_cast<int32_t>(id));
    }
    return {};
  }

  Status add(const Found& found, int64_t prompt) {
    const bool single = found.place.names_prompt;
    if (single && found.place.prompt != prompt) return {};
    TRILITH_ASSIGN_OR_RETURN(const OpenFile open, open_dump(found.file->path));
    if (found.tensor >= open.tensors.size()) {
      return Error::runtime("the file changed while it was read").with_file(found.file->path);
    }
    const TensorView& tensor = open.tensors[found.tensor];
    const auto tokens = static_cast<int64_t>(ids_[static_cast<size_t>(prompt)].size());
    const auto batch = single ? 1 : static_cast<int64_t>(ids_.size());
    const auto layout = row_layout(tensor, tokens, batch, single ? 0 : prompt);
    Status status =
        layout.ok() ? record(found.place.point, tokens, *layout) : Status(Error(layout.error()));
    if (!status.ok()) {
      return std::move(status).error().with_file(found.file->path).with_tensor(found.name);
    }
    ++report_.tensors;
    places_.set(found.place.point, found.name);
    return {};
  }

  Status record(const std::string& point, int64_t tokens, const RowLayout& layout) {
    if (point.ends_with(".x_codes") || point.ends_with(".acc")) {
      TRILITH_ASSIGN_OR_RETURN(std::vector<int32_t> values, to_integers(layout.part));
      writer_.record_integers(point, tokens, layout.cols,
                              arranged(layout, tokens, std::move(values)));
    } else {
      writer_.record(point, tokens, layout.cols, arranged(layout, tokens, to_floats(layout.part)));
    }
    return {};
  }

  Json description() const {
    Json texts = Json(Json::Array());
    for (size_t i = 0; i < ids_.size(); ++i) texts.push(Json());
    Json description = Json::object({{"dtype", "F32"}, {"backend", "import"}});
    if (!options_.mode.empty()) description.set("mode", options_.mode);
    description.set("texts", std::move(texts));
    description.set("places", places_);
    return description;
  }

  const std::string& folder_;
  const TraceMap& map_;
  const ImportOptions& options_;
  TraceWriter writer_;
  std::vector<DumpFile> files_;
  std::vector<Found> found_;
  std::vector<std::vector<int32_t>> ids_;
  Json places_ = Json::object();
  ImportReport report_;
};

}  // namespace

Result<ImportReport> import_trace(const std::string& folder, const TraceMap& map,
                                  const ImportOptions& options, const std::string& output) {
  return Import(folder, map, options).run(output);
}

}  // namespace trilith::reconcile
