// checkpoint_list PATH: prints what Checkpoint::open finds, as JSON: {"container", "config",
// "metadata", "arrays": {key: items}, "tensors": {name: {dtype, shape, sha256, claim}}}; claim (of
// GGUF files alone) with the tensor's name in transformers. For the Python tests, which hold it
// against the libraries that wrote the file.
#include <cstdio>

#include "base/output_file.h"
#include "base/sha256.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_model.h"

namespace {

using namespace trilith;

Json items_of(const checkpoint::GgufArray& array) {
  if (const auto strings = array.strings()) return Json::array(*strings);
  if (const auto integers = array.integers()) return Json::array(*integers);
  return Json::array(*array.numbers());
}

Json claim_of(const checkpoint::GgmlClaim* claim, const std::string& name) {
  if (claim == nullptr) return {};
  Json types = Json(Json::Array{});
  for (const checkpoint::GgmlType* type : claim->types) types.push(type->name);
  return Json::object({{"id", claim->id},
                       {"shape", Json::array(claim->shape)},
                       {"types", std::move(types)},
                       {"problem", claim->problem},
                       {"transformers", checkpoint::transformers_name(name).value_or("")}});
}

Status list(const std::string& path) {
  TRILITH_ASSIGN_OR_RETURN(const auto opened, checkpoint::Checkpoint::open(path));
  Json arrays = Json::object();
  for (const checkpoint::GgufArray& array : opened.gguf_arrays()) {
    arrays.set(array.key, items_of(array));
  }
  Json tensors = Json::object();
  for (const TensorView& tensor : opened.tensors()) {
    tensors.set(tensor.name,
                Json::object({{"dtype", dtype_name(tensor.dtype)},
                              {"shape", Json::array(tensor.shape)},
                              {"sha256", sha256_hex(tensor.bytes)},
                              {"claim", claim_of(opened.ggml_claim(tensor.name), tensor.name)}}));
  }
  const Json listing = Json::object({{"container", container_name(opened.container())},
                                     {"config", opened.config()},
                                     {"metadata", opened.metadata()},
                                     {"arrays", arrays},
                                     {"tensors", tensors}});
  return write_text_file("-", listing.dump() + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: checkpoint_list PATH\n", stderr);
    return 2;
  }
  const Status status = list(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return exit_code(status.error().kind);
}
