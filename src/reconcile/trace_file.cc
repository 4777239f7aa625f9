#include "reconcile/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/fingerprint.h"
#include "checkpoint/safetensors.h"

namespace trilith::reconcile {
namespace {

constexpr std::string_view kLayerPrefix = "layers.";

bool by_name(const TensorView& tensor, std::string_view name) { return tensor.name < name; }

Result<uint64_t> hex_member(const Json& json, std::string_view key) {
  const std::string* text = json[key].as_string();
  uint64_t value = 0;
  if (text != nullptr) {
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value, 16);
    if (error == std::errc() && stop == end) return value;
  }
  return Error::damaged(fmt::format("the summary has no hexadecimal '{}'", key));
}

// "p12.embed" -> 12 and "embed".
std::optional<std::pair<int64_t, std::string_view>> split_name(std::string_view name) {
  if (name.size() < 2 || name[0] != 'p') return std::nullopt;
  int64_t prompt = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 1, end, prompt);
  if (error != std::errc() || prompt < 0 || stop == end || *stop != '.') return std::nullopt;
  return std::pair(prompt, name.substr(static_cast<size_t>(stop - name.data()) + 1));
}

Result<std::vector<int32_t>> ids_of(const TensorView& tensor) {
  if (tensor.shape.size() != 1 || !is_integer(tensor.dtype)) {
    return Error::damaged("token ids must be a vector of integers")
        .with_tensor(tensor.name)
        .with_found(fmt::format("{} {}", dtype_name(tensor.dtype), shape_string(tensor.shape)));
  }
  std::vector<int32_t> ids(tensor.count());
  for (size_t t = 0; t < ids.size(); ++t) {
    const double id = element_as_double(tensor, t);
    if (id < 0 || id > INT32_MAX) {
      return Error::damaged("a token id is out of range")
          .with_tensor(tensor.name)
          .with_found(fmt::format("{} at {}", id, t));
    }
    ids[t] = static_cast<int32_t>(id);
  }
  return ids;
}

}  // namespace

std::string_view level_name(TraceLevel level) {
  switch (level) {
    case TraceLevel::kFingerprint:
      return "fingerprint";
    case TraceLevel::kSampled:
      return "sampled";
    case TraceLevel::kFull:
      return "full";
  }
  TRILITH_CHECK(false);
}

Result<TraceLevel> level_from_name(std::string_view name) {
  for (const TraceLevel level :
       {TraceLevel::kFingerprint, TraceLevel::kSampled, TraceLevel::kFull}) {
    if (name == level_name(level)) return level;
  }
  return Error::usage("unknown trace level")
      .with_expected("fingerprint, sampled or full")
      .with_found(std::string(name));
}

std::string trace_tensor_name(int64_t prompt, std::string_view point) {
  return fmt::format("p{}.{}", prompt, point);
}

std::string_view without_layer(std::string_view point) {
  if (!point.starts_with(kLayerPrefix)) return point;
  const size_t dot = point.find('.', kLayerPrefix.size());
  return dot == std::string_view::npos ? point : point.substr(dot + 1);
}

Json to_json(const TensorSummary& summary) {
  return Json::object({{"rows", summary.rows},
                       {"cols", summary.cols},
                       {"ordered", hex64(summary.ordered)},
                       {"multiset", hex64(summary.multiset)},
                       {"l2", summary.l2}});
}

Result<TensorSummary> summary_from_json(const Json& json) {
  TensorSummary summary;
  const auto rows = json["rows"].as_integer();
  const auto cols = json["cols"].as_integer();
  if (!rows || !cols) return Error::damaged("the summary has no integer 'rows' and 'cols'");
  summary.rows = *rows;
  summary.cols = *cols;
  TRILITH_ASSIGN_OR_RETURN(summary.ordered, hex_member(json, "ordered"));
  TRILITH_ASSIGN_OR_RETURN(summary.multiset, hex_member(json, "multiset"));
  // A norm that is not finite is written as null.
  summary.l2 = json["l2"].as_number().value_or(std::numeric_limits<double>::infinity());
  return summary;
}

Result<TraceFile> TraceFile::open(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  TRILITH_ASSIGN_OR_RETURN(TraceFile trace, parse(file->bytes(), path));
  trace.file_ = file;
  return trace;
}

Result<TraceFile> TraceFile::parse(std::span<const std::byte> bytes, const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(checkpoint::SafetensorsContent content,
                           checkpoint::parse_safetensors(bytes, path));
  TraceFile trace;
  trace.path_ = path;
  std::vector<size_t> order(content.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return content.tensors[a].name < content.tensors[b].name; });
  trace.file_order_.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    trace.file_order_[order[i]] = i;
    trace.tensors_.push_back(std::move(content.tensors[order[i]]));
  }
  if (const std::string* text = content.metadata[kTraceMetadataKey].as_string()) {
    auto parsed = Json::parse(*text);
    if (!parsed.ok()) {
      return std::move(parsed).error().with_file(path).with_context("the trace's description");
    }
    trace.description_ = std::move(*parsed);
  }
  auto status = trace.read_prompts();
  if (status.ok()) status = trace.check_tensors();
  if (!status.ok()) return std::move(status).error().with_file(path);
  return trace;
}

Status TraceFile::read_prompts() {
  while (const TensorView* tensor = find(prompt_count(), "ids")) {
    const int64_t prompt = prompt_count();
    TRILITH_ASSIGN_OR_RETURN(std::vector<int32_t> ids, ids_of(*tensor));
    prompts_.push_back({std::move(ids), {}});
    TRILITH_RETURN_IF_ERROR(read_rows(prompt));
  }
  if (!prompts_.empty()) return {};
  return Error::damaged("this is no trace: there is no tensor 'p0.ids'")
      .with_hint("a trace names its tensors p{prompt}.{point}; see docs/TRACES.md");
}

Status TraceFile::read_rows(int64_t prompt) {
  Prompt& entry = prompts_[static_cast<size_t>(prompt)];
  const auto tokens = static_cast<int64_t>(entry.ids.size());
  const std::string key = fmt::format("p{}", prompt);
  const Json* listed = description_["rows"].find(key);
  if (listed == nullptr) {
    entry.rows.resize(entry.ids.size());
    std::iota(entry.rows.begin(), entry.rows.end(), int64_t{0});
    return {};
  }
  const Error bad = Error::damaged(fmt::format("the row list of prompt {} is damaged", prompt))
                        .with_expected(fmt::format("ascending integers below {}", tokens));
  if (!listed->is_array()) return Error(bad);
  for (const Json& item : *listed->as_array()) {
    const auto row = item.as_integer();
    const int64_t previous = entry.rows.empty() ? -1 : entry.rows.back();
    if (!row || *row <= previous || *row >= tokens) return Error(bad).with_found(item.dump());
    entry.rows.push_back(*row);
  }
  return {};
}

Status TraceFile::check_tensors() const {
  for (const TensorView& tensor : tensors_) {
    const auto parts = split_name(tensor.name);
    if (!parts || parts->first >= prompt_count() || parts->second == "ids") continue;
    const auto expected = static_cast<int64_t>(rows(parts->first).size());
    if (tensor.shape.size() != 2 || tensor.shape[0] != expected) {
      return Error::damaged("a trace tensor does not have one row a stored token")
          .with_tensor(tensor.name)
          .with_expected(fmt::format("[{}, …]", expected))
          .with_found(shape_string(tensor.shape));
    }
  }
  return {};
}

const TensorView* TraceFile::find(int64_t prompt, std::string_view point) const {
  const std::string name = trace_tensor_name(prompt, point);
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name, by_name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> TraceFile::points(int64_t prompt) const {
  std::vector<std::string> result;
  for (const size_t index : file_order_) {
    const auto parts = split_name(tensors_[index].name);
    if (parts && parts->first == prompt && parts->second != "ids") {
      result.emplace_back(parts->second);
    }
  }
  return result;
}

std::optional<TensorSummary> TraceFile::summary(int64_t prompt, std::string_view point) const {
  const Json* json = description_["summaries"].find(trace_tensor_name(prompt, point));
  if (json == nullptr) return std::nullopt;
  auto summary = summary_from_json(*json);
  return summary.ok() ? std::optional(*summary) : std::nullopt;
}

}  // namespace trilith::reconcile
