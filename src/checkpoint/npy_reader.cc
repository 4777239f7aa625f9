#include "checkpoint/npy_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/byte_reader.h"

namespace trilith::checkpoint {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kMaxHeader = uint64_t{64} << 10;
constexpr size_t kMaxDimensions = 32;  // NumPy's own limit until version 2

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"|b1", DType::kBool}, {"|u1", DType::kU8},  {"|i1", DType::kI8},  {"<u2", DType::kU16},
    {"<i2", DType::kI16},  {"<u4", DType::kU32}, {"<i4", DType::kI32}, {"<u8", DType::kU64},
    {"<i8", DType::kI64},  {"<f2", DType::kF16}, {"<f4", DType::kF32}, {"<f8", DType::kF64}};

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  Shape shape;
};

// The dict literal that numpy.save writes: three keys in any order, each once.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<Header> parse() {
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':') || !member(*key)) return std::nullopt;
      if (!take(',') && peek() != '}') return std::nullopt;
    }
    skip_blanks();
    if (!text_.empty() || !has_descr_ || !has_order_ || !has_shape_) return std::nullopt;
    return std::move(header_);
  }

 private:
  void skip_blanks() {
    const size_t first = text_.find_first_not_of(" \n\t");
    text_.remove_prefix(first == std::string_view::npos ? text_.size() : first);
  }
  char peek() {
    skip_blanks();
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }

  bool member(std::string_view key) {
    if (key == "descr" && !has_descr_) {
      has_descr_ = true;
      // A list here describes a record of fields.
      const auto descr = quoted();
      header_.descr = descr.value_or("");
      return descr.has_value();
    }
    if (key == "fortran_order" && !has_order_) {
      has_order_ = true;
      header_.fortran_order = take_word("True");
      return header_.fortran_order || take_word("False");
    }
    if (key == "shape" && !has_shape_) {
      has_shape_ = true;
      return shape();
    }
    return false;
  }

  bool shape() {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_blanks();
      int64_t size = 0;
      const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || header_.shape.size() == kMaxDimensions) return false;
      text_.remove_prefix(static_cast<size_t>(stop - text_.data()));
      header_.shape.push_back(size);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
  Header header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

Result<DType> dtype_of(std::string_view descr) {
  for (const auto& [name, dtype] : kTypes) {
    if (name == descr) return dtype;
  }
  Error error = Error::unsupported("the array is not of a number type that is read")
                    .with_expected("little-endian integers or floats")
                    .with_found(fmt::format("'{}'", descr));
  if (descr.starts_with("|O")) {
    return std::move(error).with_hint(
        "the file holds a pickle of Python objects, which is not executed: save a plain array");
  }
  if (descr.starts_with('>')) {
    return std::move(error).with_hint("save array.astype(array.dtype.newbyteorder('<'))");
  }
  return error;
}

// Column after column -> row after row.
std::vector<std::byte> row_major(std::span<const std::byte> bytes, const Shape& shape,
                                 size_t element) {
  std::vector<std::byte> result(bytes.size());
  std::vector<size_t> strides(shape.size());
  size_t stride = element;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= static_cast<size_t>(shape[axis]);
  }
  Shape index(shape.size(), 0);
  size_t from = 0;
  for (size_t to = 0; to < result.size(); to += element) {
    std::memcpy(result.data() + to, bytes.data() + from, element);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return result;
}

Result<uint64_t> header_size(ByteReader& reader) {
  TRILITH_ASSIGN_OR_RETURN(const uint8_t major, reader.read_u8());
  TRILITH_RETURN_IF_ERROR(reader.skip(1));
  if (major < 1 || major > 3) {
    return Error::unsupported("the version of the .npy file is unknown")
        .with_offset(kMagic.size())
        .with_expected("1, 2 or 3")
        .with_found(std::to_string(major));
  }
  if (major == 1) {
    TRILITH_ASSIGN_OR_RETURN(const uint16_t size, reader.read_u16());
    return uint64_t{size};
  }
  TRILITH_ASSIGN_OR_RETURN(const uint32_t size, reader.read_u32());
  if (size <= kMaxHeader) return uint64_t{size};
  return Error::damaged("the header of the .npy file is too long")
      .with_expected(fmt::format("at most {} bytes", kMaxHeader))
      .with_found(std::to_string(size));
}

Result<NpyContent> parse(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto magic = reader.read_string(kMagic.size());
  if (!magic.ok() || *magic != kMagic) {
    return Error::damaged("this is no .npy file")
        .with_expected("\\x93NUMPY in front")
        .with_hint("numpy.save writes one");
  }
  TRILITH_ASSIGN_OR_RETURN(const uint64_t size, header_size(reader));
  const uint64_t begin = reader.offset();
  TRILITH_ASSIGN_OR_RETURN(const std::string_view text, reader.read_string(size));
  std::optional<Header> header = HeaderParser(text).parse();
  if (!header) {
    return Error::unsupported("the header of the .npy file describes no plain array")
        .with_offset(begin)
        .with_expected("{'descr': '<f4', 'fortran_order': False, 'shape': (…)}")
        .with_found(std::string(text.substr(0, 120)));
  }
  TRILITH_ASSIGN_OR_RETURN(const DType dtype, dtype_of(header->descr));
  TRILITH_ASSIGN_OR_RETURN(const uint64_t expected, byte_count(dtype, header->shape));
  if (expected != reader.remaining()) {
    return Error::damaged("the .npy file is not as long as its shape says")
        .with_offset(reader.offset())
        .with_expected(fmt::format("{} bytes of {} {}", expected, dtype_name(dtype),
                                   shape_string(header->shape)))
        .with_found(std::to_string(reader.remaining()));
  }
  const auto data = bytes.subspan(reader.offset());
  NpyContent content{{"", dtype, header->shape, data}, nullptr};
  if (header->fortran_order && header->shape.size() > 1) {
    content.copy = std::make_shared<const std::vector<std::byte>>(
        row_major(data, header->shape, dtype_size(dtype)));
    content.tensor.bytes = *content.copy;
  }
  return content;
}

}  // namespace

Result<NpyContent> parse_npy(std::span<const std::byte> bytes, const std::string& file) {
  auto content = parse(bytes);
  if (!content.ok()) return std::move(content).error().with_file(file);
  return content;
}

}  // namespace trilith::checkpoint
