// Formats that transformers itself defines: "bitnet" (integrations/bitnet.py; also onebitllms and
// the published BitNet models) and "gemma" (integrations/gemma_quant.py). Both call their tensors
// weight and weight_scale; only the shapes tell which axis is packed.
#include <fmt/format.h>

#include <algorithm>

#include "announce/families.h"
#include "announce/kernel_layouts.h"
#include "announce/row_scales.h"
#include "base/check.h"
#include "packing/catalogue.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::Scale;

bool is_dense(DType dtype) { return is_scale_type(dtype); }

Result<PackingSpec> bitnet_spec(const Settings& settings) {
  const auto refuse = [&](std::string_view key, std::string found, std::string expected) {
    return Error::unsupported(fmt::format("quantization_config asks for '{}'", key))
        .with_file("config.json")
        .with_expected(std::move(expected))
        .with_found(std::move(found));
  };
  const Json& values = settings.values;
  const auto word = [&](std::string_view key, std::string_view otherwise) {
    return values[key].is_null() || values[key].is_string() ? text(values, key, otherwise)
                                                            : values[key].dump();
  };
  const std::string mode = word("quantization_mode", "offline");
  if (mode != "offline") {
    return refuse("quantization_mode", mode, "offline")
        .with_hint("these are masters that are made ternary at every forward; pack them first");
  }
  if (values["use_rms_norm"].as_bool().value_or(false)) {
    return refuse("use_rms_norm", "true", "false");
  }
  const std::string linear_class = word("linear_class", "bitlinear");
  if (linear_class != "autobitlinear" && linear_class != "bitlinear") {
    return refuse("linear_class", linear_class, "bitlinear or autobitlinear");
  }
  const auto* row =
      packing::find_format(linear_class == "autobitlinear" ? "hf-bitnet" : "hf-bitnet-inverse");
  TRILITH_CHECK(row != nullptr);
  return row->spec;
}

Result<Claim> bitnet_claim(const Source& source, const std::string& module, PackingSpec spec) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".weight"));
  const TensorView* const scale = builder.find(".weight_scale");
  if (codes->dtype != DType::kU8 || scale == nullptr || !is_dense(scale->dtype) ||
      scale->count() != 1) {
    return Error::damaged("quant_method 'bitnet' is announced, but not what is stored")
        .with_tensor(codes->name)
        .with_expected("U8 codes with one float weight_scale beside them")
        .with_found(fmt::format("{} with {}", dtype_name(codes->dtype),
                                scale == nullptr
                                    ? "no weight_scale"
                                    : fmt::format("{} weight_scale {}", dtype_name(scale->dtype),
                                                  shape_string(scale->shape))));
  }
  if (codes->shape.size() != 2) {
    return contradiction(codes->name, "the codes are no matrix", "[N/4, K]",
                         shape_string(codes->shape));
  }
  Claim& claim = builder.claim();
  claim.stored["scale"] = *scale;
  claim.cols = codes->dim(1);
  claim.rows = 4 * codes->dim(0);
  if (const auto known = source.shape_of(module)) {
    if (known->cols != claim.cols || (known->rows + 3) / 4 != codes->dim(0)) {
      return contradiction(codes->name, "the codes have another size than the architecture says",
                           fmt::format("[{}, {}]", (known->rows + 3) / 4, known->cols),
                           shape_string(codes->shape));
    }
    claim.rows = known->rows;
  }
  spec.scale.dtype = scale->dtype;
  const bool multiply = spec.scale.op == Scale::Op::kMultiply;
  const Settings& settings = source.settings();
  builder.state("scale.op", multiply ? "mul" : "div",
                settings.values["linear_class"].is_null() ? "default of linear_class"
                                                          : settings.where + ".linear_class");
  builder.state("law.stride", "N*K/4", settings.where + ".quant_method");
  PackingSpec other = spec;
  other.scale.op = multiply ? Scale::Op::kDivide : Scale::Op::kMultiply;
  claim.spec = std::move(spec);
  claim.promises.checks_direction = true;
  claim.rivals.push_back({multiply ? "the scale divides (linear_class bitlinear)"
                                   : "the scale multiplies (linear_class autobitlinear)",
                          std::move(other), claim.promises});
  return std::move(builder).finish();
}

// Bits of a Gemma module by the only width under which a row of bytes holds K codes.
Result<Claim> gemma_claim(const Source& source, const std::string& module) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".weight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".weight_scale"));
  if (codes->shape.size() != 2 || dtype_size(codes->dtype) != 1) {
    return contradiction(
        codes->name, "the codes are no matrix of bytes", "U8 or I8 [N, K·bits/8]",
        fmt::format("{} {}", dtype_name(codes->dtype), shape_string(codes->shape)));
  }
  Claim& claim = builder.claim();
  claim.rows = codes->dim(0);
  claim.cols = codes->dim(1);
  PackingSpec spec = plain_bytes(DType::kI8, 8);
  if (codes->dtype == DType::kU8) {
    const auto known = source.shape_of(module);
    const int64_t all = integer(source.settings().values, "num_bits").value_or(0);
    int64_t bits = 0;
    for (const int64_t width : {2, 4}) {
      const bool fits = known ? codes->dim(1) == (known->cols * width + 7) / 8 : width == all;
      if (fits) bits = width;
    }
    if (bits == 0 || (known && known->rows != claim.rows)) {
      return contradiction(codes->name, "the codes have another size than the architecture says",
                           known ? fmt::format("[{}, {} / 4 or / 2]", known->rows, known->cols)
                                 : "sizes in config.json, or num_bits 2 or 4",
                           shape_string(codes->shape));
    }
    claim.cols = known ? known->cols : codes->dim(1) * 8 / bits;
    spec = row_words(DType::kU8, static_cast<int>(bits));
    spec.code_table = CodeTable::rule(CodeTable::Kind::kOffset, int64_t{1} << (bits - 1));
  }
  builder.state("bits", spec.bits, source.settings().where);
  TRILITH_RETURN_IF_ERROR(set_row_scale(spec, *scale, claim.rows, claim.cols, std::nullopt));
  claim.spec = std::move(spec);
  builder.note_beside({".input_activation_scale", ".output_activation_scale"});
  return std::move(builder).finish();
}

// Modules whose weight is stored as bytes or has a scale beside it.
std::vector<std::string> packed_modules(const Source& source) {
  std::vector<std::string> modules;
  for (std::string& module : source.modules_with(".weight")) {
    const TensorView* const weight = source.find(module + ".weight");
    const bool bytes = dtype_size(weight->dtype) == 1;
    if (bytes && weight->shape.size() == 2) modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace

Recognised bitnet_claims(const Source& source) {
  const Settings& settings = source.settings();
  const std::vector<std::string> modules = packed_modules(source);
  const auto gpu = [&](const std::string& module) { return is_bitnet_gpu(source, module); };
  const bool for_gpu = !modules.empty() && std::all_of(modules.begin(), modules.end(), gpu);
  if (settings.method != "bitnet" && !(settings.method.empty() && for_gpu)) return std::nullopt;
  const auto spec = bitnet_spec(settings);
  if (!spec.ok()) return Result<Announcement>(spec.error());
  Announcement announcement{for_gpu ? "bitnet-gpu" : "bitnet", settings.where, {}};
  for (const std::string& module : modules) {
    auto claim =
        gpu(module) ? bitnet_gpu_claim(source, module) : bitnet_claim(source, module, *spec);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

Recognised gemma_claims(const Source& source) {
  const Settings& settings = source.settings();
  if (settings.method != "gemma") return std::nullopt;
  Announcement announcement{"gemma", settings.where, {}};
  for (const std::string& module : packed_modules(source)) {
    auto claim = gemma_claim(source, module);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
