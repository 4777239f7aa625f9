#include "checkpoint/gguf_keys.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/utf8.h"

namespace trilith::checkpoint {
namespace {

constexpr uint64_t kMaxKeys = uint64_t{1} << 16;
constexpr uint64_t kMaxKeyBytes = 65535;                  // the format's own limit
constexpr uint64_t kMaxCopiedBytes = uint64_t{64} << 20;  // strings that end in `metadata`
constexpr uint64_t kMaxNestedItems = uint64_t{1} << 18;   // items of arrays there
constexpr int kMaxArrayDepth = 4;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::string_view kTypeNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "string", "array", "u64", "i64", "f64"};

// Bytes of one item; 0 for strings and arrays, whose items say themselves.
uint64_t fixed_size(GgufType type) {
  constexpr uint8_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[static_cast<size_t>(type)];
}

// The least an item can take: bounds the count before anything is done with it.
uint64_t least_size(GgufType type) {
  if (type == GgufType::kString) return 8;
  if (type == GgufType::kArray) return 12;
  return fixed_size(type);
}

Json scalar(GgufType type, const std::byte* bytes) {
  switch (type) {
    case GgufType::kU8:
      return load<uint8_t>(bytes);
    case GgufType::kI8:
      return load<int8_t>(bytes);
    case GgufType::kU16:
      return load<uint16_t>(bytes);
    case GgufType::kI16:
      return load<int16_t>(bytes);
    case GgufType::kU32:
      return load<uint32_t>(bytes);
    case GgufType::kI32:
      return load<int32_t>(bytes);
    case GgufType::kF32:
      return load<float>(bytes);
    case GgufType::kBool:
      return load<uint8_t>(bytes) != 0;
    case GgufType::kU64:
      return load<uint64_t>(bytes);
    case GgufType::kI64:
      return load<int64_t>(bytes);
    case GgufType::kF64:
      return load<double>(bytes);
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return {};
}

class KeyReader {
 public:
  explicit KeyReader(ByteReader& reader) : reader_(reader) {}

  Result<GgufKeys> read(uint64_t count) {
    // A key takes at least its length, a type and one byte of value.
    if (count > kMaxKeys || count > reader_.remaining() / 13) {
      return Error::damaged("the number of keys is absurd")
          .with_offset(16)
          .with_expected(fmt::format("at most {}", std::min(kMaxKeys, reader_.remaining() / 13)))
          .with_found(fmt::format("{}", count));
    }
    keys_.metadata = Json::object();
    for (uint64_t i = 0; i < count; ++i) TRILITH_RETURN_IF_ERROR(read_one());
    return std::move(keys_);
  }

 private:
  Status read_one() {
    const uint64_t start = reader_.offset();
    TRILITH_ASSIGN_OR_RETURN(const std::string_view key, read_gguf_string(reader_, kMaxKeyBytes));
    if (first_invalid_utf8(key)) return Error::damaged("a key is not UTF-8").with_offset(start);
    if (!seen_.insert(key).second) {
      return Error::damaged("a key is there twice").with_offset(start).with_found(std::string(key));
    }
    auto value = read_value(key);
    if (!value.ok()) {
      return std::move(value).error().with_context("key '" + std::string(key) + "'");
    }
    if (key == kAlignmentKey) TRILITH_RETURN_IF_ERROR(set_alignment(*value));
    if (*value) keys_.metadata.as_object()->emplace_back(std::string(key), std::move(**value));
    return {};
  }

  Status set_alignment(const std::optional<Json>& value) {
    const auto number = value && value->is_integer() ? value->as_integer() : std::nullopt;
    const auto alignment = number && *number > 0 ? static_cast<uint64_t>(*number) : 0;
    if (alignment == 0 || alignment > kMaxAlignment || (alignment & (alignment - 1)) != 0) {
      return Error::damaged("general.alignment is no power of two")
          .with_expected(fmt::format("1 to {}", kMaxAlignment))
          .with_found(value ? value->dump() : "a long array");
    }
    keys_.alignment = alignment;
    return {};
  }

  Result<GgufType> read_type() {
    const uint64_t start = reader_.offset();
    TRILITH_ASSIGN_OR_RETURN(const uint32_t id, reader_.read_u32());
    if (id >= std::size(kTypeNames)) {
      return Error::damaged("unknown value type")
          .with_offset(start)
          .with_expected("0 to 12")
          .with_found(fmt::format("{}", id));
    }
    return static_cast<GgufType>(id);
  }

  // Nothing for a long array: it stays where it lies.
  Result<std::optional<Json>> read_value(std::string_view key) {
    TRILITH_ASSIGN_OR_RETURN(const GgufType type, read_type());
    if (type != GgufType::kArray) {
      TRILITH_ASSIGN_OR_RETURN(Json value, read_item(type, 0));
      return std::optional(std::move(value));
    }
    TRILITH_ASSIGN_OR_RETURN(const Items items, read_items());
    if (items.type == GgufType::kArray) {
      TRILITH_ASSIGN_OR_RETURN(Json value, read_array(items, 1));
      return std::optional(std::move(value));
    }
    ByteReader start = reader_;
    TRILITH_ASSIGN_OR_RETURN(const auto bytes, skip_items(items));
    keys_.arrays.push_back({std::string(key), items.type, items.count, bytes});
    if (items.count > kMaxMetadataArray) return std::optional<Json>();
    std::swap(reader_, start);
    TRILITH_ASSIGN_OR_RETURN(Json value, read_array(items, 1));
    return std::optional(std::move(value));
  }

  struct Items {
    GgufType type = GgufType::kU8;
    uint64_t count = 0;
  };

  Result<Items> read_items() {
    TRILITH_ASSIGN_OR_RETURN(const GgufType type, read_type());
    const uint64_t start = reader_.offset();
    TRILITH_ASSIGN_OR_RETURN(const uint64_t count, reader_.read_u64());
    if (count > reader_.remaining() / least_size(type)) {
      return Error::damaged("the array is longer than the file")
          .with_offset(start)
          .with_expected(fmt::format("at most {} items of {}",
                                     reader_.remaining() / least_size(type),
                                     kTypeNames[static_cast<size_t>(type)]))
          .with_found(fmt::format("{}", count));
    }
    return Items{type, count};
  }

  Result<std::span<const std::byte>> skip_items(const Items& items) {
    ByteReader start = reader_;
    if (items.type != GgufType::kString) {
      return reader_.read_bytes(items.count * fixed_size(items.type));
    }
    for (uint64_t i = 0; i < items.count; ++i) {
      TRILITH_ASSIGN_OR_RETURN(const uint64_t length, reader_.read_u64());
      TRILITH_RETURN_IF_ERROR(reader_.skip(length));
    }
    return start.read_bytes(reader_.offset() - start.offset());
  }

  Result<Json> read_array(const Items& items, int depth) {
    if (depth > kMaxArrayDepth) {
      return Error::damaged("arrays are nested too deeply").with_offset(reader_.offset());
    }
    copied_items_ += items.count;
    if (copied_items_ > kMaxNestedItems) {
      return Error::damaged("arrays hold too many items").with_offset(reader_.offset());
    }
    Json array = Json(Json::Array{});
    for (uint64_t i = 0; i < items.count; ++i) {
      TRILITH_ASSIGN_OR_RETURN(Json item, read_item(items.type, depth));
      array.push(std::move(item));
    }
    return array;
  }

  Result<Json> read_item(GgufType type, int depth) {
    if (type == GgufType::kArray) {
      TRILITH_ASSIGN_OR_RETURN(const Items items, read_items());
      return read_array(items, depth + 1);
    }
    if (type == GgufType::kString) {
      TRILITH_ASSIGN_OR_RETURN(const std::string_view text,
                               read_gguf_string(reader_, kMaxCopiedBytes - copied_bytes_));
      copied_bytes_ += text.size();
      return Json(text);
    }
    TRILITH_ASSIGN_OR_RETURN(const auto bytes, reader_.read_bytes(fixed_size(type)));
    return scalar(type, bytes.data());
  }

  ByteReader& reader_;
  GgufKeys keys_;
  std::unordered_set<std::string_view> seen_;
  uint64_t copied_bytes_ = 0;
  uint64_t copied_items_ = 0;
};

}  // namespace

Result<std::string_view> read_gguf_string(ByteReader& reader, uint64_t max_bytes) {
  const uint64_t start = reader.offset();
  TRILITH_ASSIGN_OR_RETURN(const uint64_t length, reader.read_u64());
  if (length > max_bytes && length <= reader.remaining()) {
    return Error::damaged("a string is too long")
        .with_offset(start)
        .with_expected(fmt::format("at most {} bytes", max_bytes))
        .with_found(fmt::format("{}", length));
  }
  return reader.read_string(length);
}

Result<GgufKeys> read_gguf_keys(ByteReader& reader, uint64_t count) {
  return KeyReader(reader).read(count);
}

std::optional<std::vector<std::string_view>> GgufArray::strings() const {
  if (type != GgufType::kString) return std::nullopt;
  std::vector<std::string_view> items;
  items.reserve(count);
  ByteReader reader(bytes);
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(*reader.read_string(*reader.read_u64()));  // checked when the file was parsed
  }
  return items;
}

std::optional<std::vector<int64_t>> GgufArray::integers() const {
  if (type == GgufType::kString || type == GgufType::kF32 || type == GgufType::kF64) {
    return std::nullopt;
  }
  std::vector<int64_t> items(count);
  for (uint64_t i = 0; i < count; ++i) {
    const Json item = scalar(type, bytes.data() + i * fixed_size(type));
    items[i] = item.is_bool() ? int64_t{*item.as_bool()} : item.as_integer().value_or(INT64_MAX);
  }
  return items;
}

std::optional<std::vector<double>> GgufArray::numbers() const {
  if (type == GgufType::kString || type == GgufType::kBool) return std::nullopt;
  std::vector<double> items(count);
  for (uint64_t i = 0; i < count; ++i) {
    items[i] = *scalar(type, bytes.data() + i * fixed_size(type)).as_number();
  }
  return items;
}

}  // namespace trilith::checkpoint
