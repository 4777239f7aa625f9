// HQQ (mobiusml/hqq, hqq/core/quantize.py and bitpack.py): the matrix is viewed in groups, and the
// lines of that view are packed in equal parts, the first in the highest bits.
#include <fmt/format.h>

#include "announce/families.h"

namespace trilith::announce {
namespace {

using packing::PackingSpec;
using packing::Scale;

std::optional<int64_t> small_integer(const TensorView* tensor) {
  if (tensor == nullptr) return std::nullopt;
  const std::vector<int64_t> values = small_integers(*tensor, 1);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

struct Words {
  DType container = DType::kU8;
  int bits = 0;
  int slots = 1;
};

// How codes of `nbits` are packed; 5 and 6 bits take a byte each, 3 bits ten an int32.
std::optional<Words> words_of(int64_t nbits) {
  switch (nbits) {
    case 8:
      return Words{DType::kU8, 8, 1};
    case 5:
    case 6:
      return Words{DType::kU8, static_cast<int>(nbits), 1};
    case 4:
      return Words{DType::kU8, 4, 2};
    case 3:
      return Words{DType::kI32, 3, 10};
    case 2:
      return Words{DType::kU8, 2, 4};
    case 1:
      return Words{DType::kU8, 1, 8};
    default:
      return std::nullopt;
  }
}

Result<Claim> hqq_claim(const Source& source, const std::string& module) {
  ClaimBuilder builder(source, module);
  const Settings& settings = source.settings();
  const Json& said = settings.values["quant_config"]["weight_quant_params"].is_null()
                         ? settings.values["weight_quant_params"]
                         : settings.values["quant_config"]["weight_quant_params"];
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".W_q"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder.store("scale", ".scale"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* zero, builder.store("zero", ".zero"));
  const auto stored_or_said = [&](std::string_view name) {
    const auto value = small_integer(builder.find(fmt::format(".{}", name)));
    return value ? value : integer(said, name);
  };
  if (!is_scale_type(scale->dtype) || !is_scale_type(zero->dtype)) {
    return Error::unsupported("quantised scales and zero points of HQQ are not read")
        .with_tensor(scale->name);
  }
  const TensorView* const shape = builder.find(".shape");
  std::vector<int64_t> sizes = shape != nullptr ? small_integers(*shape) : std::vector<int64_t>();
  if (sizes.size() != 2) {
    const auto known = source.shape_of(module);
    if (!known) {
      return Error::ambiguous("nothing says which shape the packed matrix has")
          .with_tensor(codes->name);
    }
    sizes = {known->rows, known->cols};
  }
  Claim& claim = builder.claim();
  claim.rows = sizes[0];
  claim.cols = sizes[1];
  const int64_t nbits = stored_or_said("nbits").value_or(4);
  const int64_t axis = stored_or_said("axis").value_or(1);
  const int64_t group = stored_or_said("group_size").value_or(0);
  const auto words = words_of(nbits);
  if (!words || codes->dtype != words->container || (axis != 0 && axis != 1) || claim.rows < 1 ||
      claim.cols < 1 || group < -1) {
    return contradiction(codes->name, "HQQ's codes and their description do not belong together",
                         "U8 codes of 1, 2, 4, 5, 6 or 8 bits, or I32 of 3 bits",
                         fmt::format("{} with nbits {}, axis {}, group_size {}",
                                     dtype_name(codes->dtype), nbits, axis, group));
  }
  PackingSpec spec;
  spec.bits = words->bits;
  spec.container = words->container;
  spec.law.word_bits = static_cast<int>(dtype_size(words->container)) * 8;
  spec.law.slots = words->slots;
  spec.law.slot_order = packing::SlotOrder::kHighFirst;
  spec.law.axis = packing::Axis::kFlat;
  spec.law.unit = packing::UnitScope::kTensor;
  spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kUnsigned);
  spec.scale.dtype = scale->dtype;
  spec.zero.kind = packing::Zero::Kind::kFloat;
  spec.zero.dtype = zero->dtype;
  const int64_t count = claim.rows * claim.cols;
  const bool whole = group < 1;  // one group along the axis
  int64_t line = claim.cols;     // of the grouped view
  if (axis == 1) {
    if (!whole) line = group;
    spec.scale.index = whole                     ? Scale::Index::kRow
                       : claim.cols % group == 0 ? Scale::Index::kRowGroup
                                                 : Scale::Index::kFlatBlock;
    spec.scale.group = whole ? 0 : group;
  } else if (whole) {
    spec.scale.index = Scale::Index::kColumn;
  } else {
    if (count % group != 0) {
      return contradiction(codes->name, "the groups do not divide the matrix",
                           fmt::format("a divisor of {}", count), std::to_string(group));
    }
    line = count / group;
    spec.scale.index = Scale::Index::kModulo;
    spec.scale.group = group;
  }
  if (words->slots > 1) {
    spec.law.stride.kind = packing::Stride::Kind::kExtentOverSlots;
    spec.law.stride.granule = line;
    spec.pad = {packing::Pad::Scope::kTensor, 0};
  }
  spec.regroup = {static_cast<int>(axis), whole ? 0 : group};
  claim.spec = std::move(spec);
  claim.promises.centred = true;
  builder.note_beside({".nbits", ".axis", ".group_size", ".shape", ".packing", ".view_as_float",
                       ".channel_wise", ".optimize", ".round_zero", ".unpack_view_dtype",
                       ".encoded_state_dict", ".stores_quant_config", ".offload_meta",
                       ".compute_dtype", ".quant_scale", ".quant_zero"});
  const std::string meta = "tensors beside " + module + ".W_q";
  builder.state("bits", nbits, builder.find(".nbits") != nullptr ? meta : settings.where);
  builder.state("regroup.axis", axis, builder.find(".axis") != nullptr ? meta : settings.where);
  builder.state("scale.group", group,
                builder.find(".group_size") != nullptr ? meta : settings.where);
  // The config and the tensors beside the codes say the same thing twice.
  const auto said_bits = integer(said, "nbits");
  if (said_bits && *said_bits != nbits && builder.find(".nbits") != nullptr) {
    builder.state("bits", *said_bits, settings.where + " (other modules)");
  }
  return std::move(builder).finish();
}

}  // namespace

Recognised hqq_claims(const Source& source) {
  const Settings& settings = source.settings();
  const std::vector<std::string> modules = source.modules_with(".W_q");
  if (settings.method != "hqq" && !(settings.method.empty() && !modules.empty())) {
    return std::nullopt;
  }
  Announcement announcement{"hqq", settings.where.empty() ? "tensor names" : settings.where, {}};
  for (const std::string& module : modules) {
    auto claim = hqq_claim(source, module);
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
