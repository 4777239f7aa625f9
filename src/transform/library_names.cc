#include "transform/library_names.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace trilith::transform {
namespace {

using packing::PackingSpec;
using packing::Scale;
using packing::StoredTensor;

template <typename T>
StoredTensor numbers(DType dtype, Shape shape, const std::vector<T>& values) {
  StoredTensor tensor{dtype, std::move(shape), {}};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

StoredTensor text_tensor(const std::string& text) {
  StoredTensor tensor{DType::kU8, {static_cast<int64_t>(text.size())}, {}};
  tensor.bytes.resize(text.size());
  std::memcpy(tensor.bytes.data(), text.data(), text.size());
  return tensor;
}

Json names(const std::vector<std::string>& list) { return Json::array(list); }

// GPTQ.

std::vector<BesideTensor> trivial_index(const PackingSpec& spec, int64_t, int64_t cols,
                                        const ModelFacts&) {
  if (spec.group_index) return {};
  std::vector<int32_t> groups(static_cast<size_t>(cols), 0);
  for (int64_t k = 0; k < cols && spec.scale.group > 0; ++k) {
    groups[static_cast<size_t>(k)] = static_cast<int32_t>(k / spec.scale.group);
  }
  return {{".g_idx", numbers(DType::kI32, {cols}, groups)}};
}

Json gptq_config(const ModelFacts& facts) {
  const std::string_view format = facts.row.starts_with("gptq-v2")       ? "gptq_v2"
                                  : facts.row.starts_with("gptq-planar") ? "gptq_p"
                                                                         : "gptq";
  return Json::object({{"quant_method", "gptq"},
                       {"bits", facts.bits},
                       {"group_size", facts.group > 0 ? facts.group : -1},
                       {"desc_act", facts.group_index},
                       {"sym", facts.symmetric},
                       {"lm_head", false},
                       {"checkpoint_format", format},
                       {"pack_dtype", "int32"}});
}

Json auto_round_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "auto-round"},
                       {"bits", facts.bits},
                       {"group_size", facts.group > 0 ? facts.group : -1},
                       {"sym", facts.symmetric},
                       {"data_type", "int"},
                       {"packing_format", "auto_round:auto_gptq"},
                       {"block_name_to_quantize", "model.layers"}});
}

Json awq_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "awq"},
                       {"bits", facts.bits},
                       {"group_size", facts.group > 0 ? facts.group : -1},
                       {"zero_point", true},
                       {"version", facts.row == "awq-gemv" ? "gemv" : "gemm"},
                       {"modules_to_not_convert", names(facts.unpacked)}});
}

// compressed-tensors.

Shape column_of_scales(std::string_view role, const PackingSpec& spec, const Shape& canonical,
                       int64_t) {
  if (role == "scale" && spec.scale.index == Scale::Index::kRow) return {canonical[0], 1};
  return canonical;
}

std::vector<BesideTensor> weight_shape(const PackingSpec&, int64_t rows, int64_t cols,
                                       const ModelFacts&) {
  return {{".weight_shape", numbers(DType::kI64, {2}, std::vector<int64_t>{rows, cols})}};
}

Json scheme(const ModelFacts& facts, std::string_view format, std::string_view type,
            std::string_view strategy) {
  Json weights = Json::object({{"num_bits", facts.bits},
                               {"type", type},
                               {"symmetric", !facts.asymmetric_format},
                               {"strategy", strategy},
                               {"dynamic", false},
                               {"actorder", Json()}});
  weights.set("group_size", facts.group > 0 ? Json(facts.group) : Json());
  Json activations;
  if (facts.int8_activations && type == "int" && facts.bits == 8) {
    activations = Json::object({{"num_bits", 8},
                                {"type", "int"},
                                {"symmetric", true},
                                {"strategy", "token"},
                                {"dynamic", true}});
  }
  Json group = Json::object({{"targets", Json(Json::Array{"Linear"})},
                             {"weights", std::move(weights)},
                             {"input_activations", std::move(activations)},
                             {"output_activations", Json()},
                             {"format", format}});
  return Json::object({{"quant_method", "compressed-tensors"},
                       {"format", format},
                       {"quantization_status", "compressed"},
                       {"global_compression_ratio", Json()},
                       {"kv_cache_scheme", Json()},
                       {"ignore", names(facts.unpacked)},
                       {"config_groups", Json::object({{"group_0", std::move(group)}})}});
}

Json packed_scheme(const ModelFacts& facts) {
  return scheme(facts, "pack-quantized", "int", facts.group > 0 ? "group" : "channel");
}
Json int8_scheme(const ModelFacts& facts) {
  return scheme(facts, "int-quantized", "int", facts.is_tensor_scale ? "tensor" : "channel");
}
Json float8_scheme(const ModelFacts& facts) {
  return scheme(facts, "float-quantized", "float", "channel");
}
Json nvfp4_scheme(const ModelFacts& facts) {
  return scheme(facts, "nvfp4-pack-quantized", "float", "tensor_group");
}

// HQQ and quanto: the matrix as rows of a group each.

Shape grouped_view(std::string_view role, const PackingSpec& spec, const Shape& canonical,
                   int64_t cols) {
  int64_t count = 1;
  for (const int64_t extent : canonical) count *= extent;
  if (role == "codes") {
    const int64_t line = spec.law.stride.granule > 0 ? spec.law.stride.granule : cols;
    return line > 1 && count % line == 0 ? Shape{count / line, line} : canonical;
  }
  if (spec.scale.index == Scale::Index::kModulo) return {1, count};
  return {count, 1};
}

StoredTensor scalar(int64_t value) { return numbers(DType::kI64, {}, std::vector<int64_t>{value}); }

std::vector<BesideTensor> hqq_beside(const PackingSpec& spec, int64_t rows, int64_t cols,
                                     const ModelFacts&) {
  std::vector<BesideTensor> beside = {
      {".nbits", scalar(spec.bits)},
      {".axis", scalar(spec.regroup.axis)},
      {".shape", numbers(DType::kI64, {2}, std::vector<int64_t>{rows, cols})}};
  if (spec.scale.group > 0) beside.push_back({".group_size", scalar(spec.scale.group)});
  return beside;
}

Json hqq_config(const ModelFacts& facts) {
  Json weights = Json::object({{"nbits", facts.bits},
                               {"group_size", facts.group > 0 ? Json(facts.group) : Json()},
                               {"axis", facts.row.ends_with("axis0") ? 0 : 1},
                               {"channel_wise", true},
                               {"optimize", false},
                               {"round_zero", false},
                               {"view_as_float", false}});
  return Json::object({{"quant_method", "hqq"},
                       {"quant_config", Json::object({{"weight_quant_params", std::move(weights)},
                                                      {"scale_quant_params", Json()},
                                                      {"zero_quant_params", Json()},
                                                      {"offload_meta", false}})},
                       {"skip_modules", names(facts.unpacked)}});
}

std::vector<BesideTensor> quanto_beside(const PackingSpec&, int64_t, int64_t, const ModelFacts&) {
  const StoredTensor one = numbers(DType::kF32, {}, std::vector<float>{1});
  return {{".input_scale", one}, {".output_scale", one}};
}

Json quanto_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "quanto"},
                       {"weights", fmt::format("int{}", facts.bits)},
                       {"activations", Json()},
                       {"modules_to_not_convert", names(facts.unpacked)}});
}

Json mlx_config(const ModelFacts& facts) {
  return Json::object({{"group_size", facts.group}, {"bits", facts.bits}, {"mode", "affine"}});
}

// bitsandbytes.

std::vector<BesideTensor> quant_state(const PackingSpec& spec, int64_t rows, int64_t cols,
                                      const ModelFacts& facts) {
  const Json state = Json::object({{"quant_type", "nf4"},
                                   {"blocksize", spec.scale.group},
                                   {"dtype", facts.float_type},
                                   {"shape", Json(Json::Array{rows, cols})}});
  return {{".weight.quant_state.bitsandbytes__nf4", text_tensor(state.dump())}};
}

Shape column_of_bytes(std::string_view role, const PackingSpec&, const Shape& canonical, int64_t) {
  if (role != "codes") return canonical;
  int64_t count = 1;
  for (const int64_t extent : canonical) count *= extent;
  return {count, 1};
}

Json bnb4_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "bitsandbytes"},
                       {"load_in_4bit", true},
                       {"load_in_8bit", false},
                       {"bnb_4bit_quant_type", "nf4"},
                       {"bnb_4bit_use_double_quant", false},
                       {"bnb_4bit_compute_dtype", facts.float_type},
                       {"bnb_4bit_quant_storage", "uint8"},
                       {"llm_int8_skip_modules", names(facts.unpacked)}});
}

std::vector<BesideTensor> row_format(const PackingSpec&, int64_t, int64_t, const ModelFacts&) {
  return {{".weight_format", numbers(DType::kU8, {}, std::vector<uint8_t>{0})}};
}

Json bnb8_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "bitsandbytes"},
                       {"load_in_8bit", true},
                       {"load_in_4bit", false},
                       {"llm_int8_threshold", 6.0},
                       {"llm_int8_skip_modules", names(facts.unpacked)}});
}

// torchao, transformers.

Json uintx_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "torchao"},
                       {"quant_type", fmt::format("uintx{}", facts.bits)},
                       {"group_size", facts.group},
                       {"pack_dim", -1}});
}
Json torchao_config(const ModelFacts& facts) {
  return Json::object(
      {{"quant_method", "torchao"},
       {"quant_type", facts.row == "k4-high-twos" ? "bitnet" : facts.row.substr(8)}});
}

Json bitnet_config(const ModelFacts& facts) {
  const bool inverse = facts.row == "hf-bitnet-inverse";
  return Json::object({{"quant_method", "bitnet"},
                       {"linear_class", inverse ? "bitlinear" : "autobitlinear"},
                       {"quantization_mode", "offline"},
                       {"modules_to_not_convert", names(facts.unpacked)}});
}

Json gemma_config(const ModelFacts& facts) {
  return Json::object({{"quant_method", "gemma"}, {"num_bits", facts.bits}});
}

const std::vector<DType> kF32Only = {DType::kF32};
const std::map<std::string, std::string> kWeightAndScale = {{"codes", ".weight"},
                                                            {"scale", ".weight_scale"}};

struct Entry {
  std::string_view prefix;  // of the names of catalogue rows
  Library library;
};

// The first whose prefix fits.
const std::vector<Entry>& entries() {
  using WholeRow = Library::WholeRow;
  static const std::map<std::string, std::string> kQweight = {
      {"codes", ".qweight"}, {"zero", ".qzeros"}, {"scale", ".scales"}, {"group_index", ".g_idx"}};
  static const std::vector<DType> kHalf = {DType::kF16, DType::kBF16};
  static const std::map<std::string, std::string> kPacked = {
      {"codes", ".weight_packed"},
      {"scale", ".weight_scale"},
      {"zero", ".weight_zero_point"},
      {"global_scale", ".weight_global_scale"},
      {"group_index", ".weight_g_idx"}};
  static const std::map<std::string, std::string> kHqq = {
      {"codes", ".W_q"}, {"scale", ".scale"}, {"zero", ".zero"}};
  static const std::map<std::string, std::string> kShard2 = {
      {"codes", ".weight_int2_shard"}, {"scale", ".weight_scale"}, {"zero", ".weight_zero_point"}};
  static const std::map<std::string, std::string> kShards6 = {{"codes", ".weight_int4_shard"},
                                                              {"codes_1", ".weight_int2_shard"},
                                                              {"scale", ".weight_scale"},
                                                              {"zero", ".weight_zero_point"}};
  static const std::vector<Entry> kEntries = {
      {"hf-bitnet",
       {.name = "transformers bitnet", .suffixes = kWeightAndScale, .config = bitnet_config}},
      {"gptq-",
       {.name = "gptq",
        .whole_row = WholeRow::kMinusOne,
        .scale_types = kHalf,
        .suffixes = kQweight,
        .beside = trivial_index,
        .config = gptq_config}},
      {"auto-round-",
       {.name = "auto-round",
        .whole_row = WholeRow::kMinusOne,
        .scale_types = kHalf,
        .suffixes = kQweight,
        .config = auto_round_config}},
      {"awq-gemm",
       {.name = "awq",
        .whole_row = WholeRow::kMinusOne,
        .scale_types = kHalf,
        .suffixes = kQweight,
        .config = awq_config}},
      {"awq-gemv",
       {.name = "awq",
        .whole_row = WholeRow::kNever,
        .groups = {128, 64, 32},
        .scale_types = kHalf,
        .suffixes = kQweight,
        .config = awq_config}},
      {"ct-nvfp4",
       {.name = "compressed-tensors",
        .whole_row = WholeRow::kNever,
        .groups = {16},
        .suffixes = kPacked,
        .config = nvfp4_scheme}},
      {"ct-",
       {.name = "compressed-tensors",
        .suffixes = kPacked,
        .shape = column_of_scales,
        .beside = weight_shape,
        .config = packed_scheme}},
      {"int8-row",
       {.name = "compressed-tensors",
        .suffixes = kWeightAndScale,
        .shape = column_of_scales,
        .config = int8_scheme}},
      {"int8-tensor",
       {.name = "compressed-tensors", .suffixes = kWeightAndScale, .config = int8_scheme}},
      {"fp8-row",
       {.name = "compressed-tensors",
        .suffixes = kWeightAndScale,
        .shape = column_of_scales,
        .config = float8_scheme}},
      {"hqq-",
       {.name = "hqq",
        .suffixes = kHqq,
        .shape = grouped_view,
        .beside = hqq_beside,
        .config = hqq_config}},
      {"quanto-",
       {.name = "quanto",
        .suffixes = {{"codes", ".weight._data._data"},
                     {"scale", ".weight._scale"},
                     {"zero", ".weight._shift"}},
        .shape = grouped_view,
        .beside = quanto_beside,
        .config = quanto_config,
        .has_quanto_map = true}},
      {"mlx-",
       {.name = "mlx",
        .whole_row = WholeRow::kNever,
        .groups = {128, 64, 32},
        .suffixes = {{"codes", ".weight"}, {"scale", ".scales"}, {"zero", ".biases"}},
        .config = mlx_config,
        .is_mlx = true}},
      {"bnb-nf4",
       {.name = "bitsandbytes",
        .whole_row = WholeRow::kNever,
        .groups = {4096, 2048, 1024, 512, 256, 128, 64},
        .scale_types = kF32Only,
        .suffixes = {{"codes", ".weight"},
                     {"scale", ".weight.absmax"},
                     {"table", ".weight.quant_map"}},
        .shape = column_of_bytes,
        .beside = quant_state,
        .config = bnb4_config}},
      {"bnb-int8",
       {.name = "bitsandbytes",
        .scale_types = kF32Only,
        .suffixes = {{"codes", ".weight"}, {"scale", ".SCB"}},
        .beside = row_format,
        .config = bnb8_config}},
      {"torchao-uint2", {.name = "torchao", .suffixes = kShard2, .config = uintx_config}},
      {"torchao-uint6", {.name = "torchao", .suffixes = kShards6, .config = uintx_config}},
      {"torchao-mx",
       {.name = "torchao",
        .whole_row = WholeRow::kNever,
        .groups = {32},
        .suffixes = {{"codes", "._weight_qdata"}, {"scale", "._weight_scale"}},
        .config = torchao_config}},
      {"k4-high-twos",
       {.name = "torchao",
        .suffixes = {{"codes", ".weight_int_data"}, {"scale", ".weight_scale"}},
        .config = torchao_config}},
      {"k4-low-offset2",
       {.name = "transformers gemma", .suffixes = kWeightAndScale, .config = gemma_config}},
      {"gemma-int4",
       {.name = "transformers gemma", .suffixes = kWeightAndScale, .config = gemma_config}},
  };
  return kEntries;
}

}  // namespace

const Library* library_of(const packing::CatalogueRow& row) {
  for (const Entry& entry : entries()) {
    if (row.name.starts_with(entry.prefix)) return &entry.library;
  }
  return nullptr;
}

std::string plain_suffix(std::string_view role) {
  if (role == "codes") return ".weight";
  return fmt::format(".weight_{}", role);
}

}  // namespace trilith::transform
