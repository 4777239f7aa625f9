#include "model/load_part.h"

#include <fmt/format.h>

#include <cmath>

#include "model/format_check.h"
#include "model/rope_rows.h"

namespace trilith::model {
namespace {

// The config fields a shape comes from, for people who have to find the one that is wrong.
std::string_view shape_fields(const PartSource& source) {
  switch (source.id.role) {
    case Role::kEmbedding:
    case Role::kLmHead:
      return "vocab_size, hidden_size";
    case Role::kQProj:
      return "num_attention_heads * head_dim, hidden_size";
    case Role::kKProj:
    case Role::kVProj:
      return "num_key_value_heads * head_dim, hidden_size";
    case Role::kOProj:
      return "hidden_size, num_attention_heads * head_dim";
    case Role::kGateProj:
    case Role::kUpProj:
      return "intermediate_size, hidden_size";
    case Role::kDownProj:
      return "hidden_size, intermediate_size";
    case Role::kFfnSubNorm:
      return "intermediate_size";
    case Role::kAttnSubNorm:
      return "num_attention_heads * head_dim";
    case Role::kQNorm:
    case Role::kKNorm:
      return "head_dim";
    case Role::kInputNorm:
    case Role::kPostNorm:
    case Role::kFinalNorm:
      return "hidden_size";
  }
  return "";
}

bool is_vector(const PartSource& source) { return source.is_bias || is_norm(source.id.role); }

Result<LoadedPart> load_dense(const PartSource& source, const TensorView& tensor,
                              const LoadOptions& options) {
  DenseMatrix matrix{source.rows, source.cols, tensor.dtype, to_floats(tensor)};
  for (size_t i = 0; i < matrix.values.size(); ++i) {
    if (std::isfinite(matrix.values[i])) continue;
    const auto index = static_cast<int64_t>(i);
    return Error::damaged("a value is not finite")
        .with_tensor(tensor.name)
        .with_expected("finite values")
        .with_found(is_vector(source) ? fmt::format("{} at index {}", matrix.values[i], index)
                                      : fmt::format("{} at row {}, column {}", matrix.values[i],
                                                    index / source.cols, index % source.cols));
  }
  if (!source.stored_rows.empty()) matrix.values = with_rows(matrix.values, source.stored_rows);
  Fingerprint print;
  if (options.fingerprints) print = fingerprint(matrix.values);
  return LoadedPart{std::move(matrix), print};
}

Result<LoadedPart> load_packed(const checkpoint::Checkpoint& checkpoint, const PartSource& source,
                               const ModuleFormat& format, const LoadOptions& options) {
  TRILITH_ASSIGN_OR_RETURN(const auto tensors, module_tensors(checkpoint, format));
  const auto name_of = [&](const std::string& role) {
    const auto tensor = tensors.find(role);
    return tensor != tensors.end() ? tensor->second.name : std::string();
  };
  const std::string codes = name_of("codes").empty() ? format.name : name_of("codes");
  auto matrix = packing::decode(format.spec, tensors, source.rows, source.cols,
                                {.unused_as_zero = options.unused_as_zero});
  if (!matrix.ok()) return std::move(matrix).error().with_tensor(codes);
  TRILITH_RETURN_IF_ERROR(
      check_matrix(*matrix, codes, name_of("scale").empty() ? codes : name_of("scale")));
  if (!source.stored_rows.empty()) {
    matrix = with_rows(std::move(matrix).value(), source.stored_rows);
    if (!matrix.ok()) return std::move(matrix).error().with_tensor(codes);
  }
  Fingerprint print;
  if (options.fingerprints) print = fingerprint(matrix->dense());
  return LoadedPart{std::move(matrix).value(), print};
}

}  // namespace

std::string PartSource::name() const { return module_name(id) + (is_bias ? ".bias" : ""); }

Status check_dense(const PartSource& source, const TensorView& tensor) {
  Shape shape = {source.rows};
  if (!is_vector(source)) shape.push_back(source.cols);
  if (tensor.shape != shape) {
    const std::string fields(source.is_bias ? "output features" : shape_fields(source));
    return Error::damaged("the shape disagrees with config.json")
        .with_tensor(tensor.name)
        .with_expected(fmt::format("{} ({})", shape_string(shape), fields))
        .with_found(shape_string(tensor.shape));
  }
  if (tensor.dtype != DType::kF16 && tensor.dtype != DType::kBF16 && tensor.dtype != DType::kF32) {
    return Error::unsupported("a dense part is stored in a type that is not read as dense")
        .with_tensor(tensor.name)
        .with_expected("F16, BF16 or F32")
        .with_found(std::string(dtype_name(tensor.dtype)))
        .with_hint("if it is packed, run `trilith inspect --save` first");
  }
  return {};
}

Result<LoadedPart> load_part(const checkpoint::Checkpoint& checkpoint, const PartSource& source,
                             const LoadOptions& options) {
  auto part = source.is_packed()
                  ? load_packed(checkpoint, source, *std::get<1>(source.from), options)
                  : load_dense(source, *std::get<0>(source.from), options);
  if (!part.ok()) {
    Error error = std::move(part).error();
    const std::string& file = checkpoint.file_of(error.tensor);
    return std::move(error).with_file(file);
  }
  return part;
}

}  // namespace trilith::model
