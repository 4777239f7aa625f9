#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/byte_reader.h"
#include "checkpoint/safetensors.h"

namespace trilith::checkpoint {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr uint64_t kMaxDataBytes = uint64_t{1} << 62;

// Types the format has and this program does not (sub-byte elements, complex numbers).
constexpr std::string_view kUnreadTypes[] = {"F4", "F6_E2M3", "F6_E3M2", "C64"};

struct Placed {
  TensorView view;
  uint64_t begin = 0;  // relative to the data part
  uint64_t end = 0;
};

// Files that people hand over by mistake, told by their first bytes.
std::string hint_from_magic(std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), 32));
  if (start.starts_with("version https://git-lfs")) {
    return "this is a Git LFS pointer, not the weights; fetch them with `git lfs pull`";
  }
  if (start.starts_with("GGUF")) return "this is a GGUF file";
  if (start.starts_with("PK\x03\x04") || start.starts_with("\x80\x02")) {
    return "this is a PyTorch file; save it with the safetensors library first";
  }
  if (start.starts_with("<!") || start.starts_with("<html")) {
    return "this is a web page, not the weights; the download failed";
  }
  return {};
}

Result<std::string_view> header_text(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  if (bytes.size() < kLengthBytes) {
    return Error::damaged(bytes.empty() ? "the file is empty" : "the file is truncated")
        .with_offset(0)
        .with_expected("8 bytes of header length")
        .with_found(fmt::format("{} bytes", bytes.size()));
  }
  TRILITH_ASSIGN_OR_RETURN(const uint64_t length, reader.read_u64());
  if (length > kMaxHeaderBytes) {
    return Error::damaged("the header length is absurd")
        .with_offset(0)
        .with_expected(fmt::format("at most {}", kMaxHeaderBytes))
        .with_found(fmt::format("{}", length))
        .with_hint(hint_from_magic(bytes));
  }
  if (length > reader.remaining()) {
    return Error::damaged("the header is longer than the file")
        .with_offset(0)
        .with_expected(fmt::format("at most {} bytes", reader.remaining()))
        .with_found(fmt::format("{} bytes", length))
        .with_hint("the file is truncated: fetch it again");
  }
  TRILITH_ASSIGN_OR_RETURN(const std::string_view text, reader.read_string(length));
  if (!text.starts_with('{')) {
    return Error::damaged("the header is not a JSON object").with_offset(kLengthBytes);
  }
  return text;
}

// A non-negative integer as JSON writes it: 3.0 and "3" are none.
std::optional<uint64_t> count_from(const Json& json) {
  if (!json.is_integer()) return std::nullopt;
  const int64_t value = *json.as_integer();
  return value < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(value));
}

Result<DType> dtype_of(const Json& entry) {
  const std::string* name = entry["dtype"].as_string();
  if (name == nullptr) {
    return Error::damaged("the header gives no dtype")
        .with_expected("a string")
        .with_found(std::string(entry["dtype"].type_name()));
  }
  if (const auto dtype = dtype_from_name(*name)) return *dtype;
  if (std::ranges::find(kUnreadTypes, *name) != std::end(kUnreadTypes)) {
    return Error::unsupported("dtype " + *name + " is not supported");
  }
  return Error::damaged("unknown dtype")
      .with_expected("a safetensors dtype such as U8, F16, BF16, F32")
      .with_found(*name);
}

Result<Shape> shape_of(const Json& entry) {
  const auto* items = entry["shape"].as_array();
  if (items == nullptr) {
    return Error::damaged("the header gives no shape")
        .with_expected("an array of non-negative integers")
        .with_found(std::string(entry["shape"].type_name()));
  }
  Shape shape;
  shape.reserve(items->size());
  for (const Json& item : *items) {
    const auto extent = count_from(item);
    if (!extent) {
      return Error::damaged("a dimension is no non-negative integer").with_found(item.dump());
    }
    shape.push_back(static_cast<int64_t>(*extent));
  }
  return shape;
}

Result<Placed> placed_tensor(const std::string& name, const Json& entry,
                             std::span<const std::byte> data) {
  if (!entry.is_object()) {
    return Error::damaged("the header entry is no object")
        .with_found(std::string(entry.type_name()));
  }
  Placed placed;
  placed.view.name = name;
  TRILITH_ASSIGN_OR_RETURN(placed.view.dtype, dtype_of(entry));
  TRILITH_ASSIGN_OR_RETURN(placed.view.shape, shape_of(entry));
  TRILITH_ASSIGN_OR_RETURN(const uint64_t needed, byte_count(placed.view.dtype, placed.view.shape));
  const auto* offsets = entry["data_offsets"].as_array();
  const auto begin =
      offsets != nullptr && offsets->size() == 2 ? count_from((*offsets)[0]) : std::nullopt;
  const auto end =
      offsets != nullptr && offsets->size() == 2 ? count_from((*offsets)[1]) : std::nullopt;
  if (!begin || !end || *begin > *end || *end > kMaxDataBytes) {
    return Error::damaged("data_offsets is no pair of ascending byte offsets")
        .with_found(entry["data_offsets"].dump());
  }
  const std::string where = fmt::format("[{}, {})", *begin, *end);
  if (*end - *begin != needed) {
    return Error::damaged("data_offsets do not match dtype and shape")
        .with_expected(fmt::format("{} bytes for {} {}", needed, dtype_name(placed.view.dtype),
                                   shape_string(placed.view.shape)))
        .with_found(fmt::format("{} bytes, {}", *end - *begin, where));
  }
  if (*end > data.size()) {
    return Error::damaged("the tensor lies beyond the end of the file")
        .with_expected(fmt::format("at most {} data bytes", data.size()))
        .with_found(where)
        .with_hint("the file is truncated: fetch it again");
  }
  placed.begin = *begin;
  placed.end = *end;
  placed.view.bytes = data.subspan(*begin, *end - *begin);
  return placed;
}

// The tensors must tile the data part: no byte twice, none left over. Anything else means that the
// header does not belong to these bytes.
Status check_tiling(const std::vector<Placed>& placed, uint64_t data_offset, uint64_t data_size) {
  std::vector<size_t> order(placed.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::pair(placed[a].begin, placed[a].end) < std::pair(placed[b].begin, placed[b].end);
  });
  uint64_t covered = 0;
  const Placed* before = nullptr;
  for (const size_t index : order) {
    const Placed& tensor = placed[index];
    if (tensor.begin < covered) {
      return Error::damaged("the tensor overlaps tensor '" + before->view.name + "'")
          .with_tensor(tensor.view.name)
          .with_offset(data_offset + tensor.begin)
          .with_expected(fmt::format("data from offset {}", covered))
          .with_found(fmt::format("{}", tensor.begin));
    }
    if (tensor.begin > covered) {
      return Error::damaged("a gap of bytes belongs to no tensor")
          .with_tensor(tensor.view.name)
          .with_offset(data_offset + covered)
          .with_expected(fmt::format("data from offset {}", covered))
          .with_found(fmt::format("{}", tensor.begin));
    }
    covered = tensor.end;
    before = &tensor;
  }
  if (covered != data_size) {
    return Error::damaged("bytes behind the last tensor belong to no tensor")
        .with_offset(data_offset + covered)
        .with_expected(fmt::format("{} data bytes", covered))
        .with_found(fmt::format("{}", data_size));
  }
  return {};
}

Result<Json> metadata_from(const Json& json) {
  if (json.is_null()) return Json::object();
  const auto* members = json.as_object();
  if (members == nullptr) {
    return Error::damaged("__metadata__ is no object").with_found(std::string(json.type_name()));
  }
  for (const auto& [key, value] : *members) {
    if (!value.is_string()) {
      return Error::damaged("__metadata__ holds something other than strings")
          .with_expected("a string under '" + key + "'")
          .with_found(std::string(value.type_name()));
    }
  }
  return json;
}

Result<SafetensorsContent> parse(std::span<const std::byte> bytes) {
  TRILITH_ASSIGN_OR_RETURN(const std::string_view text, header_text(bytes));
  auto header = Json::parse(text, {.max_bytes = kMaxHeaderBytes, .unique_keys = true});
  if (!header.ok()) {
    Error error = std::move(header).error();
    const uint64_t at = kLengthBytes + error.offset.value_or(0);
    return std::move(error).with_context("the header").with_offset(at);
  }
  const uint64_t data_offset = kLengthBytes + text.size();
  const auto data = bytes.subspan(data_offset);
  SafetensorsContent content;
  content.metadata = Json::object();
  std::vector<Placed> placed;
  for (const auto& [name, entry] : *header->as_object()) {
    if (name == "__metadata__") {
      TRILITH_ASSIGN_OR_RETURN(content.metadata, metadata_from(entry));
      continue;
    }
    auto tensor = placed_tensor(name, entry, data);
    if (!tensor.ok()) return std::move(tensor).error().with_tensor(name);
    placed.push_back(std::move(tensor).value());
  }
  TRILITH_RETURN_IF_ERROR(check_tiling(placed, data_offset, data.size()));
  content.tensors.reserve(placed.size());
  for (Placed& tensor : placed) content.tensors.push_back(std::move(tensor.view));
  return content;
}

}  // namespace

Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> bytes,
                                             const std::string& file) {
  auto content = parse(bytes);
  if (!content.ok()) return std::move(content).error().with_file(file);
  return content;
}

}  // namespace trilith::checkpoint
