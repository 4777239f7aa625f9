#include "base/byte_reader.h"

#include <fmt/format.h>

#include "base/tensor_view.h"

namespace trilith {

Result<std::span<const std::byte>> ByteReader::read_bytes(uint64_t count) {
  if (count > remaining()) {
    return Error::damaged("the data end too early")
        .with_offset(offset_)
        .with_expected(fmt::format("{} bytes", count))
        .with_found(fmt::format("{} bytes", remaining()));
  }
  const auto view = bytes_.subspan(offset_, count);
  offset_ += count;
  return view;
}

template <typename T>
Result<T> ByteReader::read_number() {
  TRILITH_ASSIGN_OR_RETURN(const auto view, read_bytes(sizeof(T)));
  return load<T>(view.data());
}

Result<uint8_t> ByteReader::read_u8() { return read_number<uint8_t>(); }
Result<uint16_t> ByteReader::read_u16() { return read_number<uint16_t>(); }
Result<uint32_t> ByteReader::read_u32() { return read_number<uint32_t>(); }
Result<uint64_t> ByteReader::read_u64() { return read_number<uint64_t>(); }
Result<float> ByteReader::read_f32() { return read_number<float>(); }
Result<double> ByteReader::read_f64() { return read_number<double>(); }

Result<std::string_view> ByteReader::read_string(uint64_t count) {
  TRILITH_ASSIGN_OR_RETURN(const auto view, read_bytes(count));
  return std::string_view(reinterpret_cast<const char*>(view.data()), view.size());
}

Status ByteReader::skip(uint64_t count) {
  TRILITH_RETURN_IF_ERROR(read_bytes(count));
  return {};
}

Status ByteReader::seek(uint64_t offset) {
  if (offset > bytes_.size()) {
    return Error::damaged("an offset points behind the end of the data")
        .with_expected(fmt::format("at most {}", bytes_.size()))
        .with_found(fmt::format("{}", offset));
  }
  offset_ = offset;
  return {};
}

}  // namespace trilith
