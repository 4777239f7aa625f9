// optimum-quanto (huggingface/optimum-quanto, optimum/quanto/tensor): the matrix in groups along
// the inputs; below eight bits the lines of that view lie in equal parts of a byte, first part low.
#include <fmt/format.h>

#include "announce/families.h"
#include "announce/row_scales.h"

namespace trilith::announce {
namespace {

using packing::PackingSpec;
using packing::Scale;

// "qint4", "int4": 4. "qfloat8_e4m3fn", "float8": 8. Nothing for other words.
std::optional<int> bits_of_word(std::string_view word) {
  if (word.starts_with("q")) word.remove_prefix(1);
  if (word == "int2") return 2;
  if (word == "int4") return 4;
  if (word == "int8" || word.starts_with("float8")) return 8;
  return std::nullopt;
}

struct SaidBits {
  std::optional<int> bits;
  std::string where;
};

// quanto_qmap.json names every module; config.json says it for all.
SaidBits said_bits(const Source& source, const Json& map, const std::string& module) {
  if (const std::string* word = map[module]["weights"].as_string()) {
    return {bits_of_word(*word), "quanto_qmap.json: " + module};
  }
  const Settings& settings = source.settings();
  const std::string word = text(settings.values, "weights");
  return {word.empty() ? std::nullopt : bits_of_word(word), settings.where + ".weights"};
}

class Module {
 public:
  Module(const Source& source, const std::string& name, SaidBits said)
      : source_(source), builder_(source, name), said_(std::move(said)) {}

  Result<Claim> claim() {
    const bool packed = builder_.find(".weight._data._data") != nullptr;
    TRILITH_ASSIGN_OR_RETURN(
        const TensorView* codes,
        builder_.store("codes", packed ? ".weight._data._data" : ".weight._data"));
    TRILITH_ASSIGN_OR_RETURN(const TensorView* scale, builder_.store("scale", ".weight._scale"));
    const Shape expected_scale{scale->dim(0), 1};
    if (codes->shape.size() != 2 || scale->shape != expected_scale) {
      return contradiction(scale->name, "quanto's scales are no column", "[groups, 1]",
                           shape_string(scale->shape));
    }
    TRILITH_RETURN_IF_ERROR(packed ? take_packed(*codes, *scale) : take_whole(*codes, *scale));
    out().spec.scale.dtype = scale->dtype;
    TRILITH_RETURN_IF_ERROR(take_shift(scale->shape));
    builder_.note_beside({".input_scale", ".output_scale"});
    out().promises.scale_sign = Promises::Sign::kNotNegative;
    out().promises.centred = true;
    return std::move(builder_).finish();
  }

 private:
  Claim& out() { return builder_.claim(); }

  Status require_bits(int bits, const std::string& tensor) {
    if (said_.bits && *said_.bits != bits) {
      return contradiction(tensor, "the announced bits contradict the sizes",
                           fmt::format("{} bits ({})", *said_.bits, said_.where),
                           fmt::format("{} bits", bits));
    }
    builder_.state("bits", bits, said_.bits ? said_.where : "shapes of codes and scales");
    return {};
  }

  Status take_whole(const TensorView& codes, const TensorView& scale) {
    TRILITH_RETURN_IF_ERROR(require_bits(8, codes.name));
    if (dtype_size(codes.dtype) != 1) {
      return contradiction(codes.name, "codes of eight bits take a byte each", "I8 or F8",
                           std::string(dtype_name(codes.dtype)));
    }
    out().rows = codes.dim(0);
    out().cols = codes.dim(1);
    PackingSpec spec = plain_bytes(codes.dtype, 8);
    TRILITH_RETURN_IF_ERROR(set_row_scale(spec, scale, out().rows, out().cols, std::nullopt));
    out().spec = std::move(spec);
    return {};
  }

  // The view has one line a scale; its lines are shared out over the parts of a byte.
  Status take_packed(const TensorView& codes, const TensorView& scale) {
    const int64_t lines = scale.dim(0);
    const int64_t line = codes.dim(1);
    int bits = 0;
    for (const int width : {2, 4}) {
      const int64_t slots = 8 / width;
      if (codes.dim(0) == (lines + slots - 1) / slots && (bits == 0 || said_.bits == width)) {
        bits = width;
      }
    }
    if (bits == 0 || codes.dtype != DType::kU8) {
      return contradiction(
          codes.name, "quanto's codes and scales are of different sizes",
          fmt::format("U8 [{} / 4 or / 2, {}]", lines, line),
          fmt::format("{} {}", dtype_name(codes.dtype), shape_string(codes.shape)));
    }
    TRILITH_RETURN_IF_ERROR(require_bits(bits, codes.name));
    TRILITH_RETURN_IF_ERROR(find_shape(codes.name, lines, line));
    PackingSpec spec;
    spec.bits = bits;
    spec.law.slots = 8 / bits;
    spec.law.stride.kind = packing::Stride::Kind::kExtentOverSlots;
    spec.law.stride.granule = line;
    spec.law.axis = packing::Axis::kFlat;
    spec.law.unit = packing::UnitScope::kTensor;
    spec.pad = {packing::Pad::Scope::kTensor, 0};
    spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kUnsigned);
    const bool whole_rows = line == out().cols;
    spec.scale.index = whole_rows ? Scale::Index::kRow : Scale::Index::kRowGroup;
    spec.scale.group = whole_rows ? 0 : line;
    spec.regroup = {0, whole_rows ? 0 : line};
    builder_.state("scale.group", line, "shape of " + codes.name);
    out().spec = std::move(spec);
    return {};
  }

  // N and K from the architecture: the view only shows their product.
  Status find_shape(const std::string& tensor, int64_t lines, int64_t line) {
    const auto known = source_.shape_of(builder_.module());
    if (!known) {
      return Error::ambiguous("nothing says how many outputs the packed matrix has")
          .with_tensor(tensor)
          .with_expected("sizes in config.json and a name that tells the matrix's place");
    }
    if (known->rows * known->cols != lines * line || known->cols % line != 0) {
      return contradiction(tensor, "the packed matrix has another size than the architecture says",
                           fmt::format("[{}, {}]", known->rows, known->cols),
                           fmt::format("{} lines of {}", lines, line));
    }
    out().rows = known->rows;
    out().cols = known->cols;
    builder_.state("shape", Json::array(std::vector<int64_t>{known->rows, known->cols}),
                   "sizes in config.json");
    return {};
  }

  Status take_shift(const Shape& scale_shape) {
    const TensorView* const shift = builder_.find(".weight._shift");
    if (shift == nullptr) return {};
    if (shift->shape != scale_shape) {
      return contradiction(shift->name, "shifts and scales are of different sizes",
                           shape_string(scale_shape), shape_string(shift->shape));
    }
    out().stored["zero"] = *shift;
    out().spec.zero.kind =
        is_float(shift->dtype) ? packing::Zero::Kind::kFloatShift : packing::Zero::Kind::kInteger;
    out().spec.zero.dtype = shift->dtype;
    return {};
  }

  const Source& source_;
  ClaimBuilder builder_;
  SaidBits said_;
};

}  // namespace

Recognised quanto_claims(const Source& source) {
  const Settings& settings = source.settings();
  const std::vector<std::string> modules = source.modules_with(".weight._scale");
  if (settings.method != "quanto" && !(settings.method.empty() && !modules.empty())) {
    return std::nullopt;
  }
  const auto file = source.checkpoint().side_json("quanto_qmap.json");
  const Json map = file.ok() ? *file : Json();
  Announcement announcement{"quanto", settings.where.empty() ? "tensor names" : settings.where, {}};
  for (const std::string& module : modules) {
    auto claim = Module(source, module, said_bits(source, map, module)).claim();
    if (!claim.ok()) return Result<Announcement>(std::move(claim).error());
    announcement.claims.push_back(std::move(claim).value());
  }
  return Result<Announcement>(std::move(announcement));
}

}  // namespace trilith::announce
