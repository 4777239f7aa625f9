// MLX (ml-explore/mlx, mlx/backend/cpu/quantized.cpp; mlx-lm): uint32 words along the rows, a scale
// and a bias for every group of inputs; or the microscaling float modes without biases.
#include <fmt/format.h>

#include "announce/families.h"
#include "announce/row_scales.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::PackingSpec;

struct Mode {
  int64_t bits = 4;
  int64_t group = 64;
  std::string mode = "affine";
  std::string where;
};

Mode read_mode(const Json& json, const Mode& base, std::string where) {
  Mode mode = base;
  mode.bits = integer(json, "bits").value_or(base.bits);
  mode.group = integer(json, "group_size").value_or(base.group);
  mode.mode = text(json, "mode", base.mode);
  mode.where = std::move(where);
  return mode;
}

// A module's own entry under its name, or what all have in common.
Mode mode_of(const Settings& settings, const std::string& module) {
  const Mode base = read_mode(settings.values, Mode{}, settings.where);
  for (const std::string& key : {module, "language_model." + module, "model." + module}) {
    if (settings.values[key].is_object()) {
      return read_mode(settings.values[key], base, settings.where + "." + key);
    }
  }
  return base;
}

Result<Claim> mlx_claim(const Source& source, const std::string& module) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".weight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".scales"));
  const TensorView* const bias = builder.find(".biases");
  const Mode mode = mode_of(source.settings(), module);
  const bool affine = mode.mode == "affine";
  const int64_t words = codes->dim(1);
  if (codes->shape.size() != 2 || scale->shape.size() != 2 || mode.bits < 1 || mode.bits > 8 ||
      mode.group < 1 || words * 32 % mode.bits != 0 ||
      words * 32 / mode.bits != scale->dim(1) * mode.group || scale->dim(0) != codes->dim(0)) {
    return contradiction(
        codes->name, "the announced bits and group size contradict the sizes",
        fmt::format("{} bits, groups of {}: {} words for {} groups a row", mode.bits, mode.group,
                    scale->dim(1) * mode.group * mode.bits / 32, scale->dim(1)),
        fmt::format("{} with scales {}", shape_string(codes->shape), shape_string(scale->shape)));
  }
  if (affine != (bias != nullptr)) {
    return contradiction(scale->name, "mode '" + mode.mode + "' and the biases contradict",
                         affine ? "biases beside the scales" : "no biases",
                         affine ? "no biases" : "biases");
  }
  Claim& claim = builder.claim();
  claim.rows = codes->dim(0);
  claim.cols = scale->dim(1) * mode.group;
  PackingSpec spec = row_words(codes->dtype, static_cast<int>(mode.bits));
  TRILITH_RETURN_IF_ERROR(set_row_scale(spec, *scale, claim.rows, claim.cols, mode.group));
  claim.promises.scale_sign = Promises::Sign::kAny;  // the larger edge of a group anchors it
  claim.promises.centred = true;
  if (affine) {
    claim.stored["zero"] = *bias;
    spec.zero.kind = packing::Zero::Kind::kFloatBias;
    spec.zero.dtype = bias->dtype;
  } else {
    spec.symbol = packing::Symbol::kFloat;
    claim.promises.scale_sign = Promises::Sign::kNotNegative;
    if (mode.mode == "mxfp4" || mode.mode == "nvfp4") {
      spec.code_table = CodeTable::rule(CodeTable::Kind::kE2M1);
    } else if (mode.mode == "mxfp8") {
      spec.code_table = CodeTable::rule(CodeTable::Kind::kE4M3);
    } else {
      return Error::unsupported("MLX mode '" + mode.mode + "' is not read")
          .with_tensor(codes->name);
    }
    if (mode.mode == "nvfp4") {
      return Error::unsupported("float8 scales stored as bytes are not expressible")
          .with_tensor(scale->name);
    }
    set_exponent_scale(spec, scale->dtype);
  }
  claim.spec = std::move(spec);
  builder.state("bits", mode.bits, mode.where + ".bits");
  builder.state("scale.group", mode.group, mode.where + ".group_size");
  return std::move(builder).finish();
}

}  // namespace

Recognised mlx_claims(const Source& source) {
  const Settings& settings = source.settings();
  if (!settings.method.empty() || settings.values.is_null()) return std::nullopt;
  std::vector<std::string> modules;
  for (std::string& module : source.modules_with(".scales")) {
    const TensorView* const weight = source.find(module + ".weight");
    if (weight != nullptr && weight->dtype == DType::kU32) modules.push_back(std::move(module));
  }
  if (modules.empty()) return std::nullopt;
  Announcement announcement{"mlx " + text(settings.values, "mode", "affine"), settings.where, {}};
  for (const std::string& module : modules) {
    auto claim = mlx_claim(source, module);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
