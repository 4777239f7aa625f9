// torchao (pytorch/ao): tensor subclasses taken apart into their tensors. `_weight_qdata` with
// scales and zero points beside them, shards of unequal widths (uintx), and the packing of its
// BitNet training prototype.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "announce/families.h"
#include "announce/row_scales.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::Zero;

// What the metadata of the file says about a weight: the class and its fields.
struct Subclass {
  std::string type;
  Json data;
  std::string where;
};

Subclass subclass_of(const Source& source, const std::string& module) {
  const std::string key = module + ".weight";
  const std::string* const text = source.checkpoint().metadata()[key].as_string();
  if (text == nullptr) return {};
  auto json = Json::parse(*text);
  if (!json.ok()) return {};
  return {announce::text(*json, "_type"), (*json)["_data"], "__metadata__: " + key};
}

// "int4", "uint3": 4, 3.
std::optional<int> bits_of_type(std::string_view word) {
  if (word.starts_with("torch.")) word.remove_prefix(6);
  if (word.starts_with("u")) word.remove_prefix(1);
  if (!word.starts_with("int") || word.size() != 4 || word[3] < '1' || word[3] > '8') {
    return std::nullopt;
  }
  return word[3] - '0';
}

class Module {
 public:
  Module(const Source& source, const std::string& name)
      : source_(source), builder_(source, name), said_(subclass_of(source, name)) {}

  // `_weight_qdata`.
  Result<Claim> flattened() {
    TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder_.store("codes", "._weight_qdata"));
    TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder_.store("scale", "._weight_scale"));
    if (codes->shape.size() != 2) return not_a_matrix(*codes);
    const bool microscaling = scale->dtype == DType::kF8E8M0 || scale->dtype == DType::kF8E4M3;
    if (codes->dtype == DType::kU8 && microscaling) {
      TRILITH_RETURN_IF_ERROR(float4(*codes, *scale));
    } else if (codes->dtype == DType::kI8 ||
               (is_float(codes->dtype) && dtype_size(codes->dtype) == 1)) {
      TRILITH_RETURN_IF_ERROR(whole_elements(*codes, *scale));
    } else {
      return Error::unsupported("torchao's packing of this weight is not read")
          .with_tensor(codes->name)
          .with_found(fmt::format("{} {}{}", dtype_name(codes->dtype), shape_string(codes->shape),
                                  said_.type.empty() ? "" : " of class " + said_.type));
    }
    if (!said_.type.empty()) builder_.state("symbol", said_.type, said_.where);
    out().promises.centred = true;
    builder_.note_beside({"._weight_act_per_tensor_scale"});
    return std::move(builder_).finish();
  }

  // `weight_int4_shard`, `weight_int2_shard`, `weight_int1_shard`: the lowest bits first.
  Result<Claim> shards() {
    PackingSpec spec;
    spec.bits = 0;
    constexpr std::array kShards = {std::pair{4, ".weight_int4_shard"},
                                    std::pair{2, ".weight_int2_shard"},
                                    std::pair{1, ".weight_int1_shard"}};
    std::vector<int> widths;
    for (const auto& [width, suffix] : kShards) {
      const TensorView* const shard = builder_.find(suffix);
      if (shard == nullptr) continue;
      if (shard->dtype != DType::kU8 || shard->shape.size() != 2) return not_a_matrix(*shard);
      const Shape whole{shard->dim(0), shard->dim(1) * (8 / width)};
      if (!widths.empty() && whole != Shape{out().rows, out().cols}) {
        return contradiction(shard->name, "the shards are of different sizes",
                             shape_string(Shape{out().rows, out().cols}), shape_string(whole));
      }
      out().rows = whole[0];
      out().cols = whole[1];
      out().stored[widths.empty() ? "codes" : fmt::format("codes_{}", widths.size())] = *shard;
      widths.push_back(width);
      spec.bits += width;
    }
    TRILITH_RETURN_IF_ERROR(require_row_shards());
    if (widths.size() == 1) {
      spec.law.slots = 8 / widths.front();
    } else {
      spec.law.sub_planes = widths;
    }
    spec.law.stride.kind = packing::Stride::Kind::kExtentOverSlots;
    spec.code_table = CodeTable::rule(CodeTable::Kind::kUnsigned);
    TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder_.store("scale", ".weight_scale"));
    TRILITH_RETURN_IF_ERROR(set_row_scale(spec, *scale, out().rows, out().cols, std::nullopt));
    TRILITH_RETURN_IF_ERROR(take_zero(spec, ".weight_zero_point", *scale, false));
    out().spec = std::move(spec);
    builder_.state("bits", out().spec.bits, "names of the shards of " + builder_.module());
    out().promises.centred = true;
    return std::move(builder_).finish();
  }

  // prototype/quantized_training/bitnet.py: two's complement, high field first.
  Result<Claim> bitnet() {
    TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder_.store("codes", ".weight_int_data"));
    TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder_.store("scale", ".weight_scale"));
    if (codes->shape.size() != 2 || dtype_size(codes->dtype) != 1) return not_a_matrix(*codes);
    PackingSpec spec;
    spec.container = codes->dtype;
    spec.law.slots = 4;
    spec.law.slot_order = packing::SlotOrder::kHighFirst;
    spec.code_table = CodeTable::list({0.0, 1.0, std::nullopt, -1.0});
    out().rows = codes->dim(0);
    out().cols = codes->dim(1) * 4;
    if (const auto known = source_.shape_of(builder_.module());
        known && known->rows == out().rows && (known->cols + 3) / 4 == codes->dim(1)) {
      out().cols = known->cols;
    }
    TRILITH_RETURN_IF_ERROR(set_row_scale(spec, *scale, out().rows, out().cols, std::nullopt));
    out().spec = std::move(spec);
    builder_.state("code_table", "two's complement", source_.settings().where + ".quant_type");
    return std::move(builder_).finish();
  }

 private:
  Claim& out() { return builder_.claim(); }

  static Error not_a_matrix(const TensorView& tensor) {
    return contradiction(
        tensor.name, "torchao's codes are no matrix of bytes", "[N, K] of bytes",
        fmt::format("{} {}", dtype_name(tensor.dtype), shape_string(tensor.shape)));
  }

  // Shards along the outputs have the scales' rows in another place.
  Status require_row_shards() const {
    const auto dim = integer(source_.settings().values, "pack_dim");
    if (!dim || *dim == -1 || *dim == 1) return {};
    return Error::unsupported(fmt::format("torchao shards along dimension {} are not read", *dim))
        .with_tensor(builder_.module());
  }

  Status take_zero(PackingSpec& spec, std::string_view suffix, const TensorView& scale,
                   bool leave_out_zeros) {
    const TensorView* const zero = builder_.find(suffix);
    if (zero == nullptr) return {};
    if (zero->count() != scale.count()) {
      return contradiction(zero->name, "zero points and scales are of different sizes",
                           shape_string(scale.shape), shape_string(zero->shape));
    }
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    if (leave_out_zeros && std::all_of(zero->bytes.begin(), zero->bytes.end(), is_zero)) {
      builder_.note_beside({suffix});
      builder_.state("zero", "none", "every " + zero->name + " is 0");
      return {};
    }
    out().stored["zero"] = *zero;
    spec.zero.kind = is_float(zero->dtype) ? Zero::Kind::kFloat : Zero::Kind::kInteger;
    spec.zero.dtype = zero->dtype;
    return {};
  }

  std::optional<int64_t> said_group() const {
    const Json::Array* const block = said_.data["block_size"].as_array();
    if (block == nullptr || block->size() != 2 || (*block)[0].as_integer() != 1)
      return std::nullopt;
    const auto group = (*block)[1].as_integer();
    return group && *group < out().cols ? group : std::optional<int64_t>(0);
  }
  const Claim& out() const { return builder_.claim(); }

  Status whole_elements(const TensorView& codes, const TensorView& scale) {
    out().rows = codes.dim(0);
    out().cols = codes.dim(1);
    PackingSpec spec = plain_bytes(codes.dtype, 8);
    const bool exponents = scale.dtype == DType::kF8E8M0;
    TRILITH_RETURN_IF_ERROR(set_row_scale(spec, scale, out().rows, out().cols,
                                          exponents ? std::optional<int64_t>(32) : said_group()));
    // Fewer bits in a whole int8: the range is a promise, the bytes are read as they are.
    if (const auto bits = bits_of_type(text(said_.data["target_dtype"], "_data")); bits) {
      builder_.state("range", *bits, said_.where);
      out().promises.range_bits = *bits;
    }
    if (spec.scale.group > 0) builder_.state("scale.group", spec.scale.group, said_.where);
    TRILITH_RETURN_IF_ERROR(take_zero(spec, "._weight_zero_point", scale, true));
    out().spec = std::move(spec);
    return {};
  }

  Status float4(const TensorView& codes, const TensorView& scale) {
    out().rows = codes.dim(0);
    out().cols = codes.dim(1) * 2;
    PackingSpec spec = row_words(DType::kU8, 4);
    spec.symbol = packing::Symbol::kFloat;
    spec.code_table = CodeTable::rule(CodeTable::Kind::kE2M1);
    const int64_t group = scale.dtype == DType::kF8E8M0 ? 32 : 16;
    TRILITH_RETURN_IF_ERROR(set_row_scale(spec, scale, out().rows, out().cols, group));
    if (const TensorView* const global = builder_.find("._weight_per_tensor_scale")) {
      out().stored["global_scale"] = *global;
      spec.scale.global = packing::Scale::Global::kMultiply;
      builder_.state("scale.global", "mul", "name of " + global->name);
    }
    builder_.state("scale.group", group, "type of " + scale.name);
    out().spec = std::move(spec);
    return {};
  }

  const Source& source_;
  ClaimBuilder builder_;
  Subclass said_;
};

}  // namespace

Recognised torchao_claims(const Source& source) {
  const Settings& settings = source.settings();
  Announcement announcement{
      "torchao", settings.where.empty() ? "tensor names" : settings.where, {}};
  std::vector<Result<Claim>> claims;
  for (const std::string& name : source.modules_with("._weight_qdata")) {
    claims.push_back(Module(source, name).flattened());
  }
  std::vector<std::string> sharded;
  for (const std::string_view suffix :
       {".weight_int4_shard", ".weight_int2_shard", ".weight_int1_shard"}) {
    for (std::string& name : source.modules_with(suffix)) {
      if (std::find(sharded.begin(), sharded.end(), name) == sharded.end()) {
        sharded.push_back(std::move(name));
      }
    }
  }
  for (const std::string& name : sharded) claims.push_back(Module(source, name).shards());
  if (settings.method == "torchao") {
    for (const std::string& name : source.modules_with(".weight_int_data")) {
      claims.push_back(Module(source, name).bitnet());
    }
  }
  if (claims.empty() && settings.method != "torchao") return std::nullopt;
  for (Result<Claim>& claim : claims) {
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
