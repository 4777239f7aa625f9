#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "checkpoint/safetensors.h"

namespace trilith::checkpoint {

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path, Json metadata) {
  if (metadata.is_null()) metadata = Json::object();
  TRILITH_CHECK(metadata.is_object());
  for (const auto& [key, value] : *metadata.as_object()) TRILITH_CHECK(value.is_string());
  TRILITH_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  return SafetensorsWriter(std::move(file), std::move(metadata));
}

Status SafetensorsWriter::declare(const std::string& name, DType dtype, const Shape& shape) {
  TRILITH_CHECK(!header_done_);
  if (name == "__metadata__" || !names_.insert(name).second) {
    return Error::damaged("a safetensors file cannot hold this name (again)").with_tensor(name);
  }
  TRILITH_ASSIGN_OR_RETURN(const uint64_t bytes, byte_count(dtype, shape));
  entries_.push_back({name, dtype, shape, bytes});
  declared_ += bytes;
  return {};
}

Status SafetensorsWriter::write_header() {
  Json header = Json::object();
  auto& members = *header.as_object();  // appended to directly: set() searches
  if (!metadata_.as_object()->empty()) members.emplace_back("__metadata__", std::move(metadata_));
  uint64_t begin = 0;
  for (const Entry& entry : entries_) {
    members.emplace_back(
        entry.name,
        Json::object({{"dtype", dtype_name(entry.dtype)},
                      {"shape", Json::array(entry.shape)},
                      {"data_offsets", Json(Json::Array{begin, begin + entry.bytes})}}));
    begin += entry.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data part starts 8-byte aligned
  std::array<std::byte, 8> length;
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i));
  TRILITH_RETURN_IF_ERROR(file_.write(length));
  TRILITH_RETURN_IF_ERROR(file_.write(text));
  header_done_ = true;
  return {};
}

Status SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (!header_done_) TRILITH_RETURN_IF_ERROR(write_header());
  TRILITH_CHECK(bytes.size() <= declared_ - written_);
  written_ += bytes.size();
  return file_.write(bytes);
}

Status SafetensorsWriter::finish() {
  if (!header_done_) TRILITH_RETURN_IF_ERROR(write_header());
  TRILITH_CHECK(written_ == declared_);
  return file_.commit();
}

Status write_safetensors(const std::string& path, std::span<const TensorToWrite> tensors,
                         Json metadata) {
  std::vector<const TensorToWrite*> order;
  for (const TensorToWrite& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, [](const TensorToWrite* a, const TensorToWrite* b) {
    return dtype_size(a->dtype) > dtype_size(b->dtype);
  });
  TRILITH_ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::create(path, std::move(metadata)));
  for (const TensorToWrite* tensor : order) {
    TRILITH_RETURN_IF_ERROR(writer.declare(tensor->name, tensor->dtype, tensor->shape));
    TRILITH_ASSIGN_OR_RETURN(const uint64_t bytes, byte_count(tensor->dtype, tensor->shape));
    TRILITH_CHECK(bytes == tensor->bytes.size());
  }
  for (const TensorToWrite* tensor : order) TRILITH_RETURN_IF_ERROR(writer.write(tensor->bytes));
  return writer.finish();
}

}  // namespace trilith::checkpoint
