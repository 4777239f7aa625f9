// decode_by_spec REQUEST.json OUT.safetensors: decodes matrices by specs that a test spells out.
//
// The request lists modules {"file", "name", "shape": [N, K], "spec", "tensors": {role: name}}. OUT
// gets the dense values of those that decode. A line of JSON a module goes to stdout: {"name",
// "error"} or {"name", "spec" as this project spells it, "encoded": "equal", or why not}.
#include <fmt/format.h>

#include <cstdio>

#include "base/mapped_file.h"
#include "checkpoint/safetensors.h"
#include "packing/codec.h"

namespace {

using namespace trilith;           // NOLINT(google-build-using-namespace): a program of one file
using namespace trilith::packing;  // NOLINT(google-build-using-namespace)

std::string encoded_again(const PackingSpec& spec, const QuantMatrix& matrix,
                          const TensorsByRole& tensors) {
  const auto stored = encode(spec, matrix);
  if (!stored.ok()) return stored.error().to_string();
  for (const auto& [role, tensor] : *stored) {
    if (!std::equal(tensor.bytes.begin(), tensor.bytes.end(), tensors.at(role).bytes.begin(),
                    tensors.at(role).bytes.end())) {
      return "other bytes in " + role;
    }
  }
  return "equal";
}

Result<std::vector<float>> decode_module(const Json& module, Json& report) {
  const std::string path = *module["file"].as_string();
  TRILITH_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  TRILITH_ASSIGN_OR_RETURN(const checkpoint::SafetensorsContent content,
                           checkpoint::parse_safetensors(file.bytes(), path));
  TRILITH_ASSIGN_OR_RETURN(const PackingSpec spec, spec_from_json(module["spec"]));
  report.set("spec", to_json(spec));
  TensorsByRole tensors;
  for (const auto& [role, name] : *module["tensors"].as_object()) {
    for (const TensorView& tensor : content.tensors) {
      if (tensor.name == *name.as_string()) tensors[role] = tensor;
    }
  }
  const Json::Array& shape = *module["shape"].as_array();
  TRILITH_ASSIGN_OR_RETURN(
      const QuantMatrix matrix,
      decode(spec, tensors, shape[0].as_integer().value(), shape[1].as_integer().value()));
  report.set("encoded", encoded_again(spec, matrix, tensors));
  return matrix.dense();
}

Status run(const std::string& request_path, const std::string& out) {
  TRILITH_ASSIGN_OR_RETURN(const Json request, read_json_file(request_path));
  std::vector<std::vector<float>> matrices;
  std::vector<checkpoint::TensorToWrite> tensors;
  matrices.reserve(request.as_array()->size());
  for (const Json& module : *request.as_array()) {
    Json report = Json::object({{"name", module["name"]}});
    auto dense = decode_module(module, report);
    if (dense.ok()) {
      matrices.push_back(std::move(dense).value());
      const Json::Array& shape = *module["shape"].as_array();
      tensors.push_back({*module["name"].as_string(),
                         DType::kF32,
                         {*shape[0].as_integer(), *shape[1].as_integer()},
                         std::as_bytes(std::span(matrices.back()))});
    } else {
      report.set("error", dense.error().to_string());
    }
    fmt::print("{}\n", report.dump());
  }
  return checkpoint::write_safetensors(out, tensors, Json::object());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const trilith::Status status = run(argv[1], argv[2]);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", status.error().to_string());
  return 1;
}
