#include "checkpoint/gguf_writer.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "checkpoint/gguf.h"

namespace trilith::checkpoint {
namespace {

constexpr uint64_t kAlignment = 32;
constexpr uint32_t kVersion = 3;
constexpr size_t kLongestName = 63;

template <typename T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void put_string(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out.append(text);
}

uint32_t id_of(GgufType type) { return static_cast<uint32_t>(type); }

uint64_t padded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

static_assert(std::endian::native == std::endian::little);

Result<GgufWriter> GgufWriter::create(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  return GgufWriter(std::move(file));
}

void GgufWriter::begin_key(std::string_view key, uint32_t type) {
  TRILITH_CHECK(!header_done_);
  put_string(keys_, key);
  put(keys_, type);
  ++key_count_;
}

void GgufWriter::set_string(std::string_view key, std::string_view value) {
  begin_key(key, id_of(GgufType::kString));
  put_string(keys_, value);
}

void GgufWriter::set_u32(std::string_view key, uint32_t value) {
  begin_key(key, id_of(GgufType::kU32));
  put(keys_, value);
}

void GgufWriter::set_f32(std::string_view key, float value) {
  begin_key(key, id_of(GgufType::kF32));
  put(keys_, value);
}

void GgufWriter::set_bool(std::string_view key, bool value) {
  begin_key(key, id_of(GgufType::kBool));
  put<uint8_t>(keys_, value ? 1 : 0);
}

void GgufWriter::set_strings(std::string_view key, const std::vector<std::string>& values) {
  begin_key(key, id_of(GgufType::kArray));
  put(keys_, id_of(GgufType::kString));
  put<uint64_t>(keys_, values.size());
  for (const std::string& value : values) put_string(keys_, value);
}

void GgufWriter::set_integers(std::string_view key, const std::vector<int32_t>& values) {
  begin_key(key, id_of(GgufType::kArray));
  put(keys_, id_of(GgufType::kI32));
  put<uint64_t>(keys_, values.size());
  for (const int32_t value : values) put(keys_, value);
}

void GgufWriter::set_floats(std::string_view key, const std::vector<float>& values) {
  begin_key(key, id_of(GgufType::kArray));
  put(keys_, id_of(GgufType::kF32));
  put<uint64_t>(keys_, values.size());
  for (const float value : values) put(keys_, value);
}

Status GgufWriter::declare(const std::string& name, uint32_t type, const Shape& shape,
                           uint64_t bytes) {
  TRILITH_CHECK(!header_done_);
  if (name.size() > kLongestName || !names_.insert(name).second) {
    return Error::damaged("a GGUF file cannot hold this name (again)").with_tensor(name);
  }
  entries_.push_back({name, type, shape, bytes});
  return {};
}

Status GgufWriter::write_header() {
  std::string head = "GGUF";
  put(head, kVersion);
  put<uint64_t>(head, entries_.size());
  put(head, key_count_);
  head += keys_;
  uint64_t offset = 0;
  for (const Entry& entry : entries_) {
    put_string(head, entry.name);
    put(head, static_cast<uint32_t>(entry.shape.size()));
    for (size_t i = entry.shape.size(); i > 0; --i) {
      put(head, static_cast<uint64_t>(entry.shape[i - 1]));
    }
    put(head, entry.type);
    put(head, offset);
    offset += padded(entry.bytes);
  }
  head.resize(padded(head.size()), '\0');
  header_done_ = true;
  return file_.write(head);
}

Status GgufWriter::write(std::span<const std::byte> bytes) {
  if (!header_done_) TRILITH_RETURN_IF_ERROR(write_header());
  TRILITH_CHECK(next_ < entries_.size() && entries_[next_].bytes == bytes.size());
  ++next_;
  TRILITH_RETURN_IF_ERROR(file_.write(bytes));
  return file_.write(std::string(padded(bytes.size()) - bytes.size(), '\0'));
}

Status GgufWriter::finish() {
  if (!header_done_) TRILITH_RETURN_IF_ERROR(write_header());
  TRILITH_CHECK(next_ == entries_.size());
  return file_.commit();
}

}  // namespace trilith::checkpoint
