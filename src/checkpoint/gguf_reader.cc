#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>

#include "base/byte_reader.h"
#include "base/utf8.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_keys.h"

namespace trilith::checkpoint {
namespace {

constexpr uint64_t kMaxTensors = uint64_t{1} << 16;
constexpr uint64_t kMaxNameBytes = 4096;
constexpr uint64_t kLeastInfoBytes = 24;  // name length, dimension count, type, offset
constexpr uint64_t kMaxElements = uint64_t{1} << 56;
constexpr uint32_t kMaxDimensions = 4;  // ggml's limit

struct Info {
  std::string name;
  Shape shape;  // slowest dimension first
  uint32_t id = 0;
  uint64_t offset = 0;  // in the data part
  uint64_t elements = 0;
  uint64_t room = 0;  // up to the next tensor or the end of the file
  bool last = false;
};

uint64_t aligned(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::string described(const GgmlType& type) {
  return fmt::format("{} ({})", type.name, type.family);
}

// A size fits when nothing but padding is left behind it.
bool fits(const GgmlType& type, const Info& info, uint64_t alignment) {
  const auto bytes = ggml_bytes(type, info.shape);
  return bytes && *bytes <= info.room && info.room - *bytes < alignment;
}

Result<uint32_t> read_version(ByteReader& reader) {
  TRILITH_ASSIGN_OR_RETURN(const std::string_view magic, reader.read_string(4));
  if (magic != "GGUF") {
    return Error::damaged("this is no GGUF file").with_offset(0).with_expected("GGUF");
  }
  TRILITH_ASSIGN_OR_RETURN(const uint32_t version, reader.read_u32());
  if (version == 2 || version == 3) return version;
  Error error = (version & 0xffff) == 0 && version != 0
                    ? Error::unsupported("big-endian GGUF files are not read")
                    : Error::unsupported("this GGUF version is not read");
  return std::move(error)
      .with_offset(4)
      .with_expected("version 2 or 3")
      .with_found(fmt::format("{}", version))
      .with_hint("convert the file with the current gguf package");
}

Result<Info> read_info(ByteReader& reader, uint64_t alignment) {
  Info info;
  const uint64_t start = reader.offset();
  TRILITH_ASSIGN_OR_RETURN(const std::string_view name, read_gguf_string(reader, kMaxNameBytes));
  if (first_invalid_utf8(name))
    return Error::damaged("a tensor name is not UTF-8").with_offset(start);
  info.name = name;
  const auto read_rest = [&]() -> Status {
    TRILITH_ASSIGN_OR_RETURN(const uint32_t dimensions, reader.read_u32());
    if (dimensions > kMaxDimensions) {
      return Error::damaged("the number of dimensions is absurd")
          .with_offset(start)
          .with_expected(fmt::format("at most {}", kMaxDimensions))
          .with_found(fmt::format("{}", dimensions));
    }
    for (uint32_t i = 0; i < dimensions; ++i) {
      TRILITH_ASSIGN_OR_RETURN(const uint64_t extent, reader.read_u64());
      info.shape.insert(info.shape.begin(), static_cast<int64_t>(extent));
    }
    TRILITH_ASSIGN_OR_RETURN(info.elements, element_count(info.shape));
    if (info.elements > kMaxElements) {
      return Error::damaged("the shape describes too many elements")
          .with_found(shape_string(info.shape));
    }
    TRILITH_ASSIGN_OR_RETURN(info.id, reader.read_u32());
    TRILITH_ASSIGN_OR_RETURN(info.offset, reader.read_u64());
    if (info.offset % alignment != 0) {
      return Error::damaged("the tensor is not aligned")
          .with_expected(fmt::format("an offset divisible by {}", alignment))
          .with_found(fmt::format("{}", info.offset));
    }
    return {};
  };
  Status status = read_rest();
  if (!status.ok()) return std::move(status).error().with_tensor(info.name);
  return info;
}

// GGUF stores no sizes: a tensor may take what lies before the next one.
Status measure_room(std::vector<Info>& infos, uint64_t data_offset, uint64_t data_size) {
  std::vector<size_t> order(infos.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::pair(infos[a].offset, a) > std::pair(infos[b].offset, b);
  });
  uint64_t end = data_size;     // the last tensor comes first
  const Info* after = nullptr;  // the next tensor that has bytes
  for (const size_t index : order) {
    Info& info = infos[index];
    if (info.elements == 0) continue;
    if (info.offset >= data_size) {
      return Error::damaged("the tensor lies beyond the end of the file")
          .with_tensor(info.name)
          .with_offset(data_offset)
          .with_expected(fmt::format("an offset below {} data bytes", data_size))
          .with_found(fmt::format("{}", info.offset))
          .with_hint("the file is truncated: fetch it again");
    }
    if (after != nullptr && after->offset == info.offset) {
      return Error::damaged("the tensor lies where tensor '" + after->name + "' lies")
          .with_tensor(info.name)
          .with_offset(data_offset + info.offset);
    }
    info.room = end - info.offset;
    info.last = after == nullptr;
    end = info.offset;
    after = &info;
  }
  if (end != 0 && after != nullptr) {
    return Error::damaged("bytes before the first tensor belong to no tensor")
        .with_tensor(after->name)
        .with_offset(data_offset)
        .with_expected("offset 0")
        .with_found(fmt::format("{}", end));
  }
  return {};
}

// id -> the readings that fit every tensor of that id: a file has one meaning for an id.
using Readings = std::map<uint32_t, std::vector<const GgmlType*>>;

Readings readings_of(const std::vector<Info>& infos, uint64_t alignment) {
  Readings readings;
  for (const Info& info : infos) {
    const auto [entry, fresh] = readings.try_emplace(info.id);
    if (fresh) {
      for (const GgmlType& type : ggml_types()) {
        if (type.id == info.id) entry->second.push_back(&type);
      }
    }
    if (info.elements == 0) continue;
    std::erase_if(entry->second,
                  [&](const GgmlType* type) { return !fits(*type, info, alignment); });
  }
  for (auto& [id, types] : readings) {
    // Ordinary numbers of ggml's own meaning come first in the table and are no guess.
    if (!types.empty() && types.front()->plain) types.resize(1);
  }
  return readings;
}

// Why no reading of the id fits.
std::string problem_of(const Info& info, uint64_t alignment) {
  std::string shape = shape_string(info.shape);
  std::string sizes;
  bool fits_alone = false;
  for (const GgmlType& type : ggml_types()) {
    if (type.id != info.id) continue;
    const auto bytes = ggml_bytes(type, info.shape);
    sizes += sizes.empty() ? "" : ", ";
    sizes += bytes ? fmt::format("{} would take {}", described(type), *bytes)
                   : fmt::format("{} has blocks of {}", described(type), type.block);
    fits_alone |= fits(type, info, alignment);
  }
  if (fits_alone) {
    return fmt::format("no one meaning of type id {} fits all tensors that have it", info.id);
  }
  if (!sizes.empty()) {
    return fmt::format("type id {} does not fit: {} has {} bytes; {}", info.id, shape, info.room,
                       sizes);
  }
  std::string others;
  for (const GgmlType& type : ggml_types()) {
    if (!fits(type, info, alignment)) continue;
    others += others.empty() ? ", the size of " : ", ";
    others += described(type);
  }
  return fmt::format("type id {} is unknown: {} has {} bytes{}", info.id, shape, info.room,
                     others.empty() ? ", which fit no known type" : others);
}

// Sizes that do not fit are the file's fault where the type has one well-known meaning, or where
// the file ends before any meaning would.
Status check_size(const Info& info, uint64_t alignment, uint64_t data_offset) {
  bool plain = false;
  bool cut = info.last;
  uint64_t needed = 0;
  for (const GgmlType& type : ggml_types()) {
    if (type.id != info.id) continue;
    if (info.elements == 0 || fits(type, info, alignment)) return {};
    const auto bytes = ggml_bytes(type, info.shape);
    plain |= type.plain.has_value();
    cut &= bytes.has_value() && *bytes > info.room;
    if (needed == 0) needed = bytes.value_or(0);
  }
  cut &= needed > 0;
  if (!plain && !cut) return {};
  Error error = Error::damaged(needed <= info.room ? "bytes behind the tensor belong to no tensor"
                               : info.last         ? "the file ends before the tensor does"
                                                   : "the tensor overlaps the next one");
  return std::move(error)
      .with_offset(data_offset + info.offset)
      .with_expected(fmt::format("{} bytes for {}", needed, shape_string(info.shape)))
      .with_found(fmt::format("{} bytes", info.room))
      .with_hint(info.last && needed > info.room ? "the file is truncated: fetch it again" : "");
}

TensorView view_of(const Info& info, const GgmlClaim& claim, std::span<const std::byte> data) {
  TensorView view{.name = info.name, .dtype = DType::kU8, .shape = {}, .bytes = {}};
  std::optional<uint64_t> bytes;
  std::optional<uint64_t> row;
  for (size_t i = 0; i < claim.types.size(); ++i) {
    const GgmlType& type = *claim.types[i];
    const auto size = ggml_bytes(type, info.shape);
    const auto row_size =
        ggml_row_bytes(type, static_cast<uint64_t>(info.shape.empty() ? 1 : info.shape.back()));
    bytes = i == 0 || bytes == size ? size : std::nullopt;
    row = i == 0 || row == row_size ? row_size : std::nullopt;
  }
  const GgmlType* type = claim.type();
  if (type != nullptr && type->plain) view.dtype = *type->plain;
  if (info.elements > 0) view.bytes = data.subspan(info.offset, bytes.value_or(info.room));
  if (info.elements == 0 || (type != nullptr && type->plain)) {
    view.shape = info.shape;
  } else if (bytes && row) {
    view.shape = info.shape;
    if (view.shape.empty()) view.shape.push_back(1);
    view.shape.back() = static_cast<int64_t>(*row);
  } else {
    view.shape = {static_cast<int64_t>(view.bytes.size())};
  }
  return view;
}

Result<GgufContent> parse(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  GgufContent content;
  TRILITH_ASSIGN_OR_RETURN(content.version, read_version(reader));
  TRILITH_ASSIGN_OR_RETURN(const uint64_t tensor_count, reader.read_u64());
  TRILITH_ASSIGN_OR_RETURN(const uint64_t key_count, reader.read_u64());
  const uint64_t most = std::min(kMaxTensors, reader.remaining() / kLeastInfoBytes);
  if (tensor_count > most) {
    return Error::damaged("the number of tensors is absurd")
        .with_offset(8)
        .with_expected(fmt::format("at most {}", most))
        .with_found(fmt::format("{}", tensor_count));
  }
  TRILITH_ASSIGN_OR_RETURN(GgufKeys keys, read_gguf_keys(reader, key_count));
  content.metadata = std::move(keys.metadata);
  content.arrays = std::move(keys.arrays);

  std::vector<Info> infos;
  infos.reserve(std::min<uint64_t>(tensor_count, reader.remaining() / kLeastInfoBytes));
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    TRILITH_ASSIGN_OR_RETURN(Info info, read_info(reader, keys.alignment));
    if (!names.insert(info.name).second) {
      return Error::damaged("the tensor is there twice").with_tensor(info.name);
    }
    infos.push_back(std::move(info));
  }
  const uint64_t data_offset =
      std::min<uint64_t>(aligned(reader.offset(), keys.alignment), bytes.size());
  const auto data = bytes.subspan(data_offset);
  TRILITH_RETURN_IF_ERROR(measure_room(infos, data_offset, data.size()));

  const Readings readings = readings_of(infos, keys.alignment);
  content.tensors.reserve(infos.size());
  content.claims.reserve(infos.size());
  for (const Info& info : infos) {
    GgmlClaim claim{
        .id = info.id, .shape = info.shape, .types = readings.at(info.id), .problem = {}};
    if (claim.types.empty()) {
      Status status = check_size(info, keys.alignment, data_offset);
      if (!status.ok()) return std::move(status).error().with_tensor(info.name);
      claim.problem = problem_of(info, keys.alignment);
    }
    content.tensors.push_back(view_of(info, claim, data));
    content.claims.push_back(std::move(claim));
  }
  return content;
}

}  // namespace

Result<GgufContent> parse_gguf(std::span<const std::byte> bytes, const std::string& file) {
  auto content = parse(bytes);
  if (!content.ok()) return std::move(content).error().with_file(file);
  return content;
}

}  // namespace trilith::checkpoint
