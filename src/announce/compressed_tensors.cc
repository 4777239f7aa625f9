// compressed-tensors (vllm-project/compressed-tensors, src/compressed_tensors/compressors): one
// config with a scheme for each group of modules; the tensors of a module say which compressor
// wrote it.
#include <fmt/format.h>

#include <algorithm>

#include "announce/families.h"
#include "announce/row_scales.h"

namespace trilith::announce {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::Zero;

struct Scheme {
  int64_t bits = 0;
  std::string type;
  std::string strategy;
  std::optional<int64_t> group;
  bool symmetric = true;
  bool int8_activations = false;  // dynamic, one scale a token
  std::string where;
};

std::vector<Scheme> schemes_of(const Settings& settings) {
  std::vector<Scheme> schemes;
  const Json::Object* const groups = settings.values["config_groups"].as_object();
  if (groups == nullptr) return schemes;
  for (const auto& [name, group] : *groups) {
    const Json& weights = group["weights"];
    if (!weights.is_object()) continue;
    Scheme scheme;
    scheme.bits = integer(weights, "num_bits").value_or(8);
    scheme.type = text(weights, "type", "int");
    scheme.strategy = text(weights, "strategy");
    scheme.group = integer(weights, "group_size");
    scheme.symmetric = weights["symmetric"].as_bool().value_or(true);
    const Json& input = group["input_activations"];
    scheme.int8_activations =
        integer(input, "num_bits") == 8 && text(input, "type", "int") == "int" &&
        text(input, "strategy") == "token" && input["dynamic"].as_bool().value_or(false);
    scheme.where = fmt::format("{}.config_groups.{}.weights", settings.where, name);
    schemes.push_back(std::move(scheme));
  }
  return schemes;
}

// The scheme of those that a module's tensors fit, by bits, kind and zero points.
const Scheme* find_scheme(const std::vector<Scheme>& schemes, int64_t bits, std::string_view type,
                          bool symmetric) {
  for (const Scheme& scheme : schemes) {
    if (scheme.bits == bits && scheme.type == type && scheme.symmetric == symmetric) return &scheme;
  }
  return nullptr;
}

std::string said_schemes(const std::vector<Scheme>& schemes) {
  std::vector<std::string> words;
  for (const Scheme& scheme : schemes) {
    words.push_back(fmt::format("{}{} {}", scheme.type, scheme.bits,
                                scheme.symmetric ? "symmetric" : "asymmetric"));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

class Module {
 public:
  Module(const Source& source, const std::string& name, const std::vector<Scheme>& schemes)
      : builder_(source, name), schemes_(schemes) {}

  Result<Claim> claim() {
    Status status = builder_.find(".weight_packed") == nullptr             ? whole_elements()
                    : builder_.find(".weight_packed")->dtype == DType::kU8 ? float4()
                                                                           : packed();
    if (!status.ok()) return std::move(status).error();
    if (scheme_ != nullptr && scheme_->int8_activations) {
      out().spec.activation = packing::Activation::kInt8Token;
    }
    builder_.note_beside({".weight_shape", ".input_scale", ".input_zero_point", ".output_scale",
                          ".input_global_scale"});
    return std::move(builder_).finish();
  }

 private:
  Claim& out() { return builder_.claim(); }

  Status use_scheme(int64_t bits, std::string_view type, bool symmetric,
                    const std::string& tensor) {
    scheme_ = find_scheme(schemes_, bits, type, symmetric);
    if (scheme_ == nullptr && !schemes_.empty()) {
      return contradiction(
          tensor, "no announced scheme fits the tensors of this module", said_schemes(schemes_),
          fmt::format("{}{} {}", type, bits, symmetric ? "symmetric" : "asymmetric"));
    }
    const std::string sized = "shapes of its tensors";
    builder_.state("bits", bits, scheme_ != nullptr ? scheme_->where + ".num_bits" : sized);
    return {};
  }

  std::optional<int64_t> group() const {
    if (scheme_ == nullptr) return std::nullopt;
    const bool grouped = scheme_->strategy == "group" || scheme_->strategy == "tensor_group";
    return grouped ? scheme_->group : std::optional<int64_t>(0);
  }

  Status take_scale(PackingSpec& spec) {
    TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder_.store("scale", ".weight_scale"));
    if (scheme_ != nullptr && scheme_->strategy == "block") {
      return Error::unsupported("scales of two-dimensional blocks are not read")
          .with_tensor(scale->name);
    }
    TRILITH_RETURN_IF_ERROR(set_row_scale(spec, *scale, out().rows, out().cols, group()));
    if (spec.scale.group > 0 && scheme_ != nullptr) {
      builder_.state("scale.group", spec.scale.group, scheme_->where + ".group_size");
    }
    return {};
  }

  // int32 words along the rows. Since 0.11 a dense bitstream, before with unused bits on top of
  // every word; the number of words tells them apart.
  Status packed() {
    TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder_.store("codes", ".weight_packed"));
    const TensorView* const shape = builder_.find(".weight_shape");
    const std::vector<int64_t> sizes =
        shape != nullptr ? small_integers(*shape) : std::vector<int64_t>();
    if (codes->dtype != DType::kI32 || codes->shape.size() != 2 || sizes.size() != 2 ||
        sizes[0] != codes->dim(0) || sizes[1] < 1) {
      return contradiction(codes->name, "weight_packed and weight_shape do not belong together",
                           "I32 [N, words] with weight_shape [N, K]",
                           fmt::format("{} {} with [{}]", dtype_name(codes->dtype),
                                       shape_string(codes->shape), fmt::join(sizes, ", ")));
    }
    out().rows = sizes[0];
    out().cols = sizes[1];
    const TensorView* const zero = builder_.find(".weight_zero_point");
    TRILITH_ASSIGN_OR_RETURN(const int bits, bits_of(*codes, zero == nullptr));
    TRILITH_RETURN_IF_ERROR(use_scheme(bits, "int", zero == nullptr, codes->name));
    PackingSpec spec = row_words(DType::kI32, bits);
    const int64_t per_word = 32 / bits;
    if (32 % bits != 0 && codes->dim(1) == (out().cols + per_word - 1) / per_word) {
      spec.law.bitstream = packing::Bitstream::kNone;
      spec.law.slots = static_cast<int>(per_word);
    }
    const int64_t middle = int64_t{1} << (bits - 1);
    out().promises.centred = true;
    TRILITH_RETURN_IF_ERROR(take_scale(spec));
    if (zero == nullptr) {
      spec.code_table = CodeTable::rule(CodeTable::Kind::kOffset, middle);
    } else {  // zero points have the same offset as the codes, so that both cancel
      out().stored["zero"] = *zero;
      spec.zero.kind = Zero::Kind::kInteger;
      spec.zero.bits = bits;
      spec.zero.dtype = zero->dtype;
      spec.zero.packed_axis = packing::Axis::kN;
      spec.zero.bitstream = spec.law.bitstream != packing::Bitstream::kNone;
    }
    if (const TensorView* const index = builder_.find(".weight_g_idx")) {
      take_group_index(spec, *index);
    }
    out().spec = std::move(spec);
    return {};
  }

  void take_group_index(PackingSpec& spec, const TensorView& index) {
    bool trivial = true;  // −1 throughout: none; or k div group
    for (uint64_t k = 0; k < index.count() && trivial; ++k) {
      const auto value = static_cast<int64_t>(element_as_double(index, k));
      trivial = value == -1 ||
                (spec.scale.group > 0 && value == static_cast<int64_t>(k) / spec.scale.group);
    }
    if (trivial || spec.scale.index != packing::Scale::Index::kRowGroup) {
      builder_.note_beside({".weight_g_idx"});
      return;
    }
    out().stored["group_index"] = index;
    spec.group_index = true;
    builder_.state("group_index", true, index.name);
  }

  // The width under which the words hold K codes: announced, or the only one.
  Result<int> bits_of(const TensorView& codes, bool symmetric) const {
    const int64_t words = codes.dim(1);
    const auto fits = [&](int64_t bits) {
      if (bits < 1 || bits > 8) return false;
      const int64_t per_word = 32 / bits;
      return words == (out().cols * bits + 31) / 32 ||
             words == (out().cols + per_word - 1) / per_word;
    };
    for (const Scheme& scheme : schemes_) {
      if (scheme.symmetric == symmetric && fits(scheme.bits)) return static_cast<int>(scheme.bits);
    }
    for (int bits = 1; bits <= 8; ++bits) {
      if (fits(bits)) return bits;  // use_scheme says that it was not announced
    }
    return contradiction(codes.name, "weight_packed and weight_shape are of different sizes",
                         fmt::format("{} codes of 1 to 8 bits a row", out().cols),
                         fmt::format("{} words", words));
  }

  const Claim& out() const { return builder_.claim(); }

  // int8 or float8, one element a weight.
  Status whole_elements() {
    TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder_.store("codes", ".weight"));
    if (codes->shape.size() != 2 || dtype_size(codes->dtype) != 1 || codes->dtype == DType::kU8) {
      return contradiction(
          codes->name, "compressed weights are no matrix of int8 or float8", "I8 or F8_E4M3 [N, K]",
          fmt::format("{} {}", dtype_name(codes->dtype), shape_string(codes->shape)));
    }
    out().rows = codes->dim(0);
    out().cols = codes->dim(1);
    PackingSpec spec = plain_bytes(codes->dtype, 8);
    const TensorView* const zero = builder_.find(".weight_zero_point");
    const std::string_view type = is_float(codes->dtype) ? "float" : "int";
    TRILITH_RETURN_IF_ERROR(use_scheme(8, type, zero == nullptr, codes->name));
    TRILITH_RETURN_IF_ERROR(take_scale(spec));
    out().promises.centred = true;
    if (spec.scale.dtype == DType::kU8) set_exponent_scale(spec, DType::kU8);
    if (zero != nullptr) {
      out().stored["zero"] = *zero;
      spec.zero.kind = is_float(zero->dtype) ? Zero::Kind::kFloat : Zero::Kind::kInteger;
      spec.zero.dtype = zero->dtype;
    }
    out().spec = std::move(spec);
    return {};
  }

  // e2m1, two a byte: mxfp4 with an exponent every 32, nvfp4 with a float8 every 16 and one float
  // for the whole matrix, which divides.
  Status float4() {
    TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder_.store("codes", ".weight_packed"));
    if (codes->shape.size() != 2) {
      return contradiction(codes->name, "packed float4 weights are no matrix", "U8 [N, K/2]",
                           shape_string(codes->shape));
    }
    out().rows = codes->dim(0);
    out().cols = codes->dim(1) * 2;
    TRILITH_RETURN_IF_ERROR(use_scheme(4, "float", true, codes->name));
    PackingSpec spec = row_words(DType::kU8, 4);
    spec.symbol = packing::Symbol::kFloat;
    spec.code_table = CodeTable::rule(CodeTable::Kind::kE2M1);
    TRILITH_RETURN_IF_ERROR(take_scale(spec));
    if (spec.scale.dtype == DType::kU8) set_exponent_scale(spec, DType::kU8);
    out().promises.centred = true;
    if (const TensorView* const global = builder_.find(".weight_global_scale")) {
      out().stored["global_scale"] = *global;
      spec.scale.global = packing::Scale::Global::kDivide;
      builder_.state("scale.global", "div", "name of " + global->name);
    }
    out().spec = std::move(spec);
    return {};
  }

  ClaimBuilder builder_;
  const std::vector<Scheme>& schemes_;
  const Scheme* scheme_ = nullptr;
};

Status require_known_format(const Settings& settings) {
  const std::string format = text(settings.values, "format", "dense");
  for (const std::string_view known :
       {"pack-quantized", "int-quantized", "float-quantized", "naive-quantized",
        "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized", "mixed-precision",
        "dense"}) {
    if (format == known) return {};
  }
  return Error::unsupported(fmt::format("compressed-tensors format '{}' is not read", format));
}

}  // namespace

Recognised compressed_tensors_claims(const Source& source) {
  const Settings& settings = source.settings();
  const bool named = settings.method == "compressed-tensors" ||
                     settings.method == "compressed_tensors" || settings.method == "sparseml";
  std::vector<std::string> modules = source.modules_with(".weight_packed");
  if (!named && !(settings.method.empty() && !modules.empty())) return std::nullopt;
  if (Status status = require_known_format(settings); !status.ok()) {
    return Result<Announcement>(std::move(status).error());
  }
  for (const std::string& module : source.modules_with(".weight_scale")) {
    const TensorView* const weight = source.find(module + ".weight");
    if (weight != nullptr && dtype_size(weight->dtype) == 1) modules.push_back(module);
  }
  const std::vector<Scheme> schemes = schemes_of(settings);
  Announcement announcement{"compressed-tensors " + text(settings.values, "format"),
                            settings.where.empty() ? "tensor names" : settings.where,
                            {}};
  for (const std::string& name : modules) {
    auto claim = Module(source, name, schemes).claim();
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
