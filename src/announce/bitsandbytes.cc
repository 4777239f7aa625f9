// bitsandbytes (bitsandbytes/functional.py, nn/modules.py): int8 with the largest magnitude of each
// row, or four bits over the flattened matrix, high nibble first, with a table in the file and the
// shape in a JSON text stored as a tensor.
#include <fmt/format.h>

#include "announce/families.h"
#include "announce/row_scales.h"

namespace trilith::announce {
namespace {

using packing::PackingSpec;
using packing::Scale;

constexpr std::string_view kState = ".weight.quant_state.bitsandbytes__";

Result<Claim> int8_claim(const Source& source, const std::string& module) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".weight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".SCB"));
  if (codes->dtype != DType::kI8 || codes->shape.size() != 2 ||
      static_cast<int64_t>(scale->count()) != codes->dim(0)) {
    return contradiction(codes->name, "the int8 matrix and SCB do not belong together",
                         "I8 [N, K] with SCB [N]",
                         fmt::format("{} {} with {}", dtype_name(codes->dtype),
                                     shape_string(codes->shape), shape_string(scale->shape)));
  }
  if (const TensorView* const format = builder.find(".weight_format")) {
    const std::vector<int64_t> value = small_integers(*format, 1);
    if (value != std::vector<int64_t>{0}) {
      return Error::unsupported("int8 codes in the tile order of a GPU are not read")
          .with_tensor(format->name)
          .with_expected("weight_format 0 (rows)");
    }
    builder.note_beside({".weight_format"});
  }
  Claim& claim = builder.claim();
  claim.rows = codes->dim(0);
  claim.cols = codes->dim(1);
  claim.spec = plain_bytes(DType::kI8, 8);
  claim.spec.scale.index = Scale::Index::kRow;
  claim.spec.scale.dtype = scale->dtype;
  claim.spec.scale.factor = 1.0 / 127;
  claim.promises.scale_sign = Promises::Sign::kNotNegative;
  claim.promises.centred = true;
  builder.state("scale.factor", 1.0 / 127, "name of " + scale->name);
  return std::move(builder).finish();
}

Result<Json> read_state(const TensorView& tensor) {
  if (tensor.dtype != DType::kU8 || tensor.bytes.size() > 4096) {
    return contradiction(
        tensor.name, "the state is no short text", "U8, at most 4096 bytes",
        fmt::format("{}, {} bytes", dtype_name(tensor.dtype), tensor.bytes.size()));
  }
  const std::string_view json(reinterpret_cast<const char*>(tensor.bytes.data()),
                              tensor.bytes.size());
  auto state = Json::parse(json);
  if (!state.ok()) return std::move(state).error().with_tensor(tensor.name);
  return state;
}

Result<Claim> four_bit_claim(const Source& source, const std::string& module,
                             const TensorView& state_tensor) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".weight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".weight.absmax"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* table, builder.store("table", ".weight.quant_map"));
  TRILITH_ASSIGN_OR_RETURN(const Json state, read_state(state_tensor));
  const int64_t block = integer(state, "blocksize").value_or(0);
  const Json::Array* const shape = state["shape"].as_array();
  const bool is_matrix = shape != nullptr && shape->size() == 2 && (*shape)[0].as_integer() &&
                         (*shape)[1].as_integer();
  Claim& claim = builder.claim();
  if (is_matrix) {
    claim.rows = *(*shape)[0].as_integer();
    claim.cols = *(*shape)[1].as_integer();
  }
  if (claim.rows < 1 || claim.cols < 1 || block < 1) {
    return contradiction(state_tensor.name, "the state holds no shape and blocksize",
                         "a shape [N, K] and a blocksize", state.dump());
  }
  if (codes->dtype != DType::kU8) {
    return Error::unsupported("four-bit codes stored as other numbers than bytes are not read")
        .with_tensor(codes->name)
        .with_found(std::string(dtype_name(codes->dtype)));
  }
  PackingSpec spec = row_words(DType::kU8, 4);
  spec.symbol = packing::Symbol::kTable;
  spec.law.slot_order = packing::SlotOrder::kHighFirst;
  spec.law.axis = packing::Axis::kFlat;
  spec.law.unit = packing::UnitScope::kTensor;
  spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kTensor);
  spec.code_table.dtype = table->dtype;
  spec.scale.index = Scale::Index::kFlatBlock;
  spec.scale.group = block;
  spec.scale.dtype = scale->dtype;
  if (const TensorView* const nested = builder.find(".weight.nested_absmax")) {
    TRILITH_RETURN_IF_ERROR(builder.store("scale_table", ".weight.nested_quant_map"));
    claim.stored["scale_scale"] = *nested;
    spec.scale.nested_group = integer(state, "nested_blocksize").value_or(0);
    spec.scale.nested_offset = state["nested_offset"].as_number().value_or(0);
    builder.state("scale.nested_group", spec.scale.nested_group, state_tensor.name);
  }
  claim.spec = std::move(spec);
  claim.promises.scale_sign = Promises::Sign::kNotNegative;
  claim.promises.centred = true;
  claim.beside.push_back(state_tensor.name);
  builder.state("shape", state["shape"], state_tensor.name);
  builder.state("scale.group", block, state_tensor.name);
  builder.state("code_table", text(state, "quant_type"), state_tensor.name);
  return std::move(builder).finish();
}

// Splits "m.weight.quant_state.bitsandbytes__nf4" at the module.
std::optional<std::string> module_of_state(const std::string& name) {
  const size_t at = name.find(kState);
  return at == std::string::npos || at == 0 ? std::nullopt : std::optional(name.substr(0, at));
}

}  // namespace

Recognised bitsandbytes_claims(const Source& source) {
  const Settings& settings = source.settings();
  Announcement announcement{
      "bitsandbytes", settings.where.empty() ? "tensor names" : settings.where, {}};
  for (const TensorView& tensor : source.tensors()) {
    const auto module = module_of_state(tensor.name);
    if (!module) continue;
    auto claim = four_bit_claim(source, *module, tensor);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  for (const std::string& module : source.modules_with(".SCB")) {
    auto claim = int8_claim(source, module);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  if (announcement.claims.empty() && settings.method != "bitsandbytes") return std::nullopt;
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
