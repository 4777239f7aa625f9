// AWQ as AutoAWQ writes it (casper-hansen/AutoAWQ, awq/modules/linear): gemm packs eight outputs a
// word in the order of its kernel, gemv eight inputs a word in plain order with padded groups.
#include <fmt/format.h>

#include "announce/families.h"
#include "announce/kn_words.h"
#include "announce/row_scales.h"

namespace trilith::announce {
namespace {

// Field i of a word holds output kOrder[i]; the spec wants the field of each output.
constexpr std::array<int, 8> kOrder = {0, 2, 4, 6, 1, 3, 5, 7};

std::vector<int> field_of_output() {
  std::vector<int> fields(kOrder.size());
  for (size_t i = 0; i < kOrder.size(); ++i)
    fields[static_cast<size_t>(kOrder[i])] = static_cast<int>(i);
  return fields;
}

Promises awq_promises() {
  Promises promises;
  promises.centred = true;
  return promises;
}

Result<Claim> gemm_claim(const Source& source, const std::string& module, const SaidScheme& said) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const KnSizes sizes,
                           take_kn_tensors(builder, said, WordsAlong::kOutputs));
  if (sizes.bits != 4) {
    return Error::unsupported(fmt::format("AWQ gemm codes of {} bits are not read", sizes.bits))
        .with_tensor(module + ".qweight")
        .with_expected("4 bits");
  }
  Claim& claim = builder.claim();
  claim.rows = sizes.rows;
  claim.cols = sizes.cols;
  claim.spec = kn_spec(builder, sizes, WordsAlong::kOutputs);
  claim.spec.law.slot_order = packing::SlotOrder::kExplicit;
  claim.spec.law.explicit_order = field_of_output();
  claim.spec.zero.slot_order = packing::SlotOrder::kExplicit;
  claim.spec.zero.explicit_order = field_of_output();
  claim.promises = awq_promises();
  state_kn(builder, sizes, said);
  builder.state("law.slot_order", Json::array(kOrder), said.where + ".version");
  return std::move(builder).finish();
}

// gemv: eight inputs a word, in plain order. Zero points and scales of a row are filled up to a
// multiple of 8, 16 or 32 groups, by the group size.
Result<Claim> gemv_claim(const Source& source, const std::string& module, const SaidScheme& said) {
  ClaimBuilder builder(source, module);
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".qweight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scales, builder.store("scale", ".scales"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* zeros, builder.store("zero", ".qzeros"));
  Claim& claim = builder.claim();
  claim.rows = codes->dim(0);
  claim.cols = codes->dim(1) * 8;
  int64_t group = 0;
  int64_t filled = 1;
  for (const int64_t size : said.group_sizes) {
    const int64_t groups = size > 0 ? (claim.cols + size - 1) / size : 1;
    filled = size >= 128 || size < 1 ? 8 : size == 64 ? 16 : 32;
    if ((groups + filled - 1) / filled * filled == scales->dim(1)) group = size;
    if (group != 0) break;
  }
  if (codes->shape.size() != 2 || codes->dtype != DType::kI32 || zeros->dtype != DType::kI32 ||
      scales->shape != Shape{claim.rows, scales->dim(1)} || !is_scale_type(scales->dtype) ||
      zeros->shape != Shape{claim.rows, scales->dim(1) / 8} || group == 0) {
    return contradiction(codes->name, "the tensors of AWQ gemv are of different sizes",
                         "I32 [N, K/8], qzeros [N, groups/8], scales [N, groups], groups filled up",
                         fmt::format("{}, {}, {}", shape_string(codes->shape),
                                     shape_string(zeros->shape), shape_string(scales->shape)));
  }
  packing::PackingSpec spec = row_words(DType::kI32, 4);
  spec.scale.index = packing::Scale::Index::kRowGroup;
  spec.scale.group = group;
  spec.scale.dtype = scales->dtype;
  spec.scale.stored_multiple = filled;
  spec.zero.kind = packing::Zero::Kind::kInteger;
  spec.zero.bits = 4;
  spec.zero.dtype = DType::kI32;
  spec.zero.packed_axis = packing::Axis::kK;
  claim.spec = std::move(spec);
  claim.promises = awq_promises();
  builder.state("bits", 4, said.where + ".bits");
  builder.state("scale.group", group, said.where + ".group_size");
  return std::move(builder).finish();
}

}  // namespace

bool is_awq_export(const Settings& settings) {
  return lower(text(settings.values, "packing_format")).find("awq") != std::string::npos ||
         lower(text(settings.values, "backend")).find("awq") != std::string::npos;
}

Recognised awq_claims(const Source& source) {
  const Settings& settings = source.settings();
  const bool exported =
      settings.method.find("round") != std::string::npos && is_awq_export(settings);
  if (settings.method != "awq" && !exported) return std::nullopt;
  const std::string version = exported ? "gemm" : lower(text(settings.values, "version", "gemm"));
  Announcement announcement{"awq " + version, settings.where, {}};
  const SaidScheme said = said_scheme(settings);
  for (const std::string& module : source.modules_with(".qweight")) {
    Result<Claim> claim =
        version == "gemm" ? gemm_claim(source, module, said)
        : version == "gemv"
            ? gemv_claim(source, module, said)
            : Error::unsupported(fmt::format("AWQ version '{}' is not read", version))
                  .with_tensor(module + ".qweight");
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
