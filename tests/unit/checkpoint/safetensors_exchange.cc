// safetensors_exchange list IN      prints {"metadata", "tensors": {name: {dtype, shape, sha256}}}
// safetensors_exchange copy IN OUT  writes every tensor again, through the streaming writer
#include <cstdio>
#include <string>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "checkpoint/safetensors.h"

namespace {

using namespace trilith;

Status list(const checkpoint::SafetensorsContent& content) {
  Json tensors = Json::object();
  for (const TensorView& tensor : content.tensors) {
    tensors.set(tensor.name, Json::object({{"dtype", dtype_name(tensor.dtype)},
                                           {"shape", Json::array(tensor.shape)},
                                           {"sha256", sha256_hex(tensor.bytes)}}));
  }
  const Json listing = Json::object({{"metadata", content.metadata}, {"tensors", tensors}});
  return write_text_file("-", listing.dump() + "\n");
}

Status copy(const checkpoint::SafetensorsContent& content, const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(auto writer,
                           checkpoint::SafetensorsWriter::create(path, content.metadata));
  for (const TensorView& tensor : content.tensors) {
    TRILITH_RETURN_IF_ERROR(writer.declare(tensor.name, tensor.dtype, tensor.shape));
  }
  for (const TensorView& tensor : content.tensors) {
    TRILITH_RETURN_IF_ERROR(writer.write(tensor.bytes));
  }
  return writer.finish();
}

Status run(const std::string& verb, const std::string& in, const std::string& out) {
  TRILITH_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(in));
  TRILITH_ASSIGN_OR_RETURN(const auto content, checkpoint::parse_safetensors(file.bytes(), in));
  return verb == "list" ? list(content) : copy(content, out);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (!(verb == "list" && argc == 3) && !(verb == "copy" && argc == 4)) {
    std::fputs("usage: safetensors_exchange list IN | copy IN OUT\n", stderr);
    return 2;
  }
  const Status status = run(verb, argv[2], argc > 3 ? argv[3] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return exit_code(status.error().kind);
}
