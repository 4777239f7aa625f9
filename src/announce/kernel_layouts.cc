#include "announce/kernel_layouts.h"

#include <fmt/format.h>

#include "announce/families.h"
#include "announce/row_scales.h"
#include "base/check.h"
#include "packing/catalogue.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::Scale;

constexpr uint64_t kGpuScales = 4;
constexpr int64_t kMostTmacBits = 4;

PackingSpec spec_of(std::string_view format) {
  const auto* const row = packing::find_format(format);
  TRILITH_CHECK(row != nullptr);
  return row->spec;
}

Status check_shape(const Source& source, const Claim& claim, const std::string& tensor) {
  const auto known = source.shape_of(claim.module);
  if (!known || (known->rows == claim.rows && known->cols == claim.cols)) return {};
  return contradiction(tensor, "the codes have another size than the architecture says",
                       fmt::format("[{}, {}]", known->rows, known->cols),
                       fmt::format("[{}, {}]", claim.rows, claim.cols));
}

// Rows of q, k and v by the config's heads; empty when it does not say.
std::vector<int64_t> head_rows(const Source& source) {
  const Json& config = source.checkpoint().config();
  const auto heads = integer(config, "num_attention_heads");
  const auto kv_heads = integer(config, "num_key_value_heads");
  const auto hidden = integer(config, "hidden_size");
  if (!heads || *heads < 1 || !hidden) return {};
  const int64_t head_dim = integer(config, "head_dim").value_or(*hidden / *heads);
  const int64_t kv_rows = kv_heads.value_or(*heads) * head_dim;
  return {*heads * head_dim, kv_rows, kv_rows};
}

Status set_gpu_scale(const Source& source, const TensorView& scale, Claim& claim) {
  int64_t used = 0;
  for (uint64_t i = 0; i < kGpuScales; ++i) {
    if (element_as_double(scale, i) != 0) used = static_cast<int64_t>(i) + 1;
  }
  Scale& own = claim.spec.scale;
  own.dtype = scale.dtype;
  if (used <= 1) return {};
  own.index = Scale::Index::kSegment;
  own.segments = used;
  if (used == 3) own.segment_lengths = head_rows(source);
  int64_t sum = 0;
  for (const int64_t length : own.segment_lengths) sum += length;
  const bool fits = used == 3 ? sum == claim.rows : used == 2 && claim.rows % 2 == 0;
  if (fits) return {};
  return contradiction(scale.name, "the joined matrices do not make up the rows",
                       used == 3 ? fmt::format("{} rows of q, k and v", sum) : "two equal parts",
                       fmt::format("{} scales for {} rows", used, claim.rows));
}

struct TmacTiles {
  int bits = 0;
  int64_t bm = 0;
  int64_t kfactor = 0;
};

Result<TmacTiles> tmac_tiles(const Settings& settings) {
  const auto bits = integer(settings.values, "bits");
  const auto columns = integer(settings.values, "g");
  const auto bm = integer(settings.values, "bm");
  const auto kfactor = integer(settings.values, "kfactor");
  if (!bits || *bits < 1 || *bits > kMostTmacBits || columns.value_or(4) != 4 || !bm || !kfactor) {
    return Error::unsupported("T-MAC is announced without the sizes of its tiles")
        .with_file("config.json")
        .with_expected("quantization_config with bits 1 to 4, g 4, bm and kfactor")
        .with_found(settings.values.dump());
  }
  return TmacTiles{static_cast<int>(*bits), *bm, *kfactor};
}

Result<Claim> tmac_claim(const Source& source, const std::string& module, const TmacTiles& tiles) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".qweight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".scales"));
  Claim& claim = builder.claim();
  // [N · bits / bm, K / 4 / kfactor, …]
  if (codes->shape.size() < 2 || codes->dim(0) > INT32_MAX || codes->dim(1) > INT32_MAX ||
      tiles.bm < 1 || tiles.bm > INT16_MAX || tiles.kfactor < 1 || tiles.kfactor > INT16_MAX) {
    return contradiction(codes->name, "the codes are no tiles", "[N·bits/bm, K/4/kfactor, …]",
                         shape_string(codes->shape));
  }
  claim.rows = codes->dim(0) * tiles.bm / tiles.bits;
  claim.cols = codes->dim(1) * tiles.kfactor * 4;
  TRILITH_RETURN_IF_ERROR(check_shape(source, claim, codes->name));
  claim.spec = spec_of("t-mac");
  claim.spec.bits = tiles.bits;
  claim.spec.law.tile.bm = tiles.bm;
  claim.spec.law.tile.bk = tiles.kfactor;
  if (tiles.bits != 2) {  // of two bits the lowest code is spare: weights are ternary
    claim.spec.code_table =
        CodeTable::rule(CodeTable::Kind::kOffset, int64_t{1} << (tiles.bits - 1));
  }
  TRILITH_RETURN_IF_ERROR(set_row_scale(claim.spec, *scale, claim.rows, claim.cols, std::nullopt));
  const std::string& where = source.settings().where;
  builder.state("bits", tiles.bits, where + ".bits");
  builder.state("law.tile", "t-mac", where + ".quant_method");
  return std::move(builder).finish();
}

}  // namespace

bool is_bitnet_gpu(const Source& source, const std::string& module) {
  const TensorView* const codes = source.find(module + ".weight");
  const TensorView* const scale = source.find(module + ".weight_scale");
  return codes != nullptr && codes->dtype == DType::kI8 && codes->shape.size() == 2 &&
         scale != nullptr && is_scale_type(scale->dtype) && scale->count() == kGpuScales;
}

Result<Claim> bitnet_gpu_claim(const Source& source, const std::string& module) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".weight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".weight_scale"));
  Claim& claim = builder.claim();
  claim.rows = codes->dim(0);
  claim.cols = 4 * codes->dim(1);
  TRILITH_RETURN_IF_ERROR(check_shape(source, claim, codes->name));
  claim.spec = spec_of("bitnet-gpu");
  TRILITH_RETURN_IF_ERROR(set_gpu_scale(source, *scale, claim));
  builder.state("law.tile", "bitnet-gpu", "types and shapes of weight and weight_scale");
  builder.state("scale.op", "mul", "gpu/model.py: the output is multiplied");
  return std::move(builder).finish();
}

Recognised tmac_claims(const Source& source) {
  const Settings& settings = source.settings();
  if (settings.method != "t-mac" && settings.method != "tmac" && settings.method != "t_mac") {
    return std::nullopt;
  }
  const auto tiles = tmac_tiles(settings);
  if (!tiles.ok()) return Result<Announcement>(tiles.error());
  Announcement announcement{"t-mac", settings.where, {}};
  for (const std::string& module : source.modules_with(".qweight")) {
    auto claim = tmac_claim(source, module, *tiles);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
