#include "announce/kn_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace trilith::announce {
namespace {

using packing::Axis;

void collect(const Json& json, SaidScheme& said, int depth) {
  if (depth > 3) return;
  if (const Json::Object* members = json.as_object()) {
    for (const auto& [key, value] : *members) {
      if (key == "bits" || key == "w_bit") {
        if (const auto bits = value.as_integer()) said.bits.push_back(*bits);
      } else if (key == "group_size" || key == "q_group_size") {
        if (const auto group = value.as_integer()) said.group_sizes.push_back(*group);
      } else {
        collect(value, said, depth + 1);
      }
    }
  }
}

bool contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string list(const std::vector<int64_t>& values) {
  return fmt::format("{}", fmt::join(values, " or "));
}

int word_bits(const TensorView& tensor) { return static_cast<int>(dtype_size(tensor.dtype)) * 8; }

bool is_matrix(const TensorView& tensor) {
  return tensor.shape.size() == 2 && tensor.shape[0] > 0 && tensor.shape[1] > 0;
}

// Whether column k belongs to group k div `group` throughout.
bool is_monotone(const TensorView& index, int64_t group) {
  for (uint64_t k = 0; k < index.count(); ++k) {
    if (load<int32_t>(index.bytes.data(), k) !=
        static_cast<int32_t>(static_cast<int64_t>(k) / group)) {
      return false;
    }
  }
  return true;
}

}  // namespace

SaidScheme said_scheme(const Settings& settings) {
  SaidScheme said;
  said.where = settings.where;
  collect(settings.values, said, 0);
  return said;
}

Result<KnSizes> take_kn_tensors(ClaimBuilder& builder, const SaidScheme& said, WordsAlong along) {
  TRILITH_ASSIGN_OR_RETURN(const TensorView* codes, builder.store("codes", ".qweight"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* scales, builder.store("scale", ".scales"));
  TRILITH_ASSIGN_OR_RETURN(const TensorView* zeros, builder.store("zero", ".qzeros"));
  if (!is_matrix(*codes) || !is_integer(codes->dtype)) {
    return contradiction(
        codes->name, "qweight is no matrix of words", "an integer matrix",
        fmt::format("{} {}", dtype_name(codes->dtype), shape_string(codes->shape)));
  }
  if (!is_matrix(*scales) || !is_scale_type(scales->dtype)) {
    return contradiction(
        scales->name, "scales are no matrix of floats", "[groups, outputs]",
        fmt::format("{} {}", dtype_name(scales->dtype), shape_string(scales->shape)));
  }
  if (!is_matrix(*zeros) || zeros->dtype != codes->dtype) {
    return contradiction(
        zeros->name, "qzeros are no matrix of words as qweight is",
        std::string(dtype_name(codes->dtype)),
        fmt::format("{} {}", dtype_name(zeros->dtype), shape_string(zeros->shape)));
  }
  KnSizes sizes;
  sizes.groups = scales->dim(0);
  sizes.rows = scales->dim(1);
  const int width = word_bits(*codes);
  // The zero points say how many bits one has: [groups, N · bits / width].
  const int64_t zero_bits = zeros->dim(1) * width;
  if (zeros->dim(0) != sizes.groups || zero_bits % sizes.rows != 0 || zero_bits > 8 * sizes.rows) {
    return contradiction(zeros->name, "qzeros and scales are of different sizes",
                         fmt::format("[{}, {} · bits / {}]", sizes.groups, sizes.rows, width),
                         shape_string(zeros->shape));
  }
  sizes.bits = static_cast<int>(zero_bits / sizes.rows);
  if (!said.bits.empty() && !contains(said.bits, sizes.bits)) {
    return contradiction(zeros->name,
                         "the announced bits contradict the sizes of qzeros and scales",
                         list(said.bits) + " bits", fmt::format("{} bits", sizes.bits));
  }
  const bool by_inputs = along == WordsAlong::kInputs;
  const int64_t code_bits = codes->dim(by_inputs ? 0 : 1) * width;
  if (by_inputs ? codes->dim(1) != sizes.rows || code_bits % sizes.bits != 0
                : code_bits != sizes.rows * sizes.bits) {
    return contradiction(codes->name, "qweight and scales are of different sizes",
                         by_inputs
                             ? fmt::format("[inputs · {} / {}, {}]", sizes.bits, width, sizes.rows)
                             : fmt::format("[inputs, {} · {} / {}]", sizes.rows, sizes.bits, width),
                         shape_string(codes->shape));
  }
  sizes.cols = by_inputs ? code_bits / sizes.bits : codes->dim(0);
  const TensorView* const index = builder.find(".g_idx");
  if (index != nullptr && index->dtype == DType::kI32 && index->count() > 0) {
    const auto inputs = static_cast<int64_t>(index->count());
    // The last word of a column may be padded.
    if (inputs > sizes.cols || sizes.cols - inputs >= width) {
      return contradiction(index->name, "g_idx and qweight disagree about the number of inputs",
                           std::to_string(sizes.cols), std::to_string(inputs));
    }
    sizes.cols = inputs;
  }
  // A group size that gives as many groups as there are: an announced one, else the even split.
  for (const int64_t group : said.group_sizes) {
    const bool whole = group < 1 || group >= sizes.cols;
    if ((whole ? 1 : (sizes.cols + group - 1) / group) == sizes.groups) {
      sizes.group = whole ? -1 : group;
      if (group == sizes.cols) sizes.group = group;
      break;
    }
  }
  if (sizes.group == 0 && !said.group_sizes.empty()) {
    return contradiction(scales->name, "the announced group size contradicts the number of groups",
                         list(said.group_sizes) + fmt::format(" inputs a group of {}", sizes.cols),
                         fmt::format("{} groups", sizes.groups));
  }
  if (sizes.group == 0) {
    if (sizes.cols % sizes.groups != 0) {
      return contradiction(scales->name, "the inputs do not divide into the groups of the scales",
                           fmt::format("a divisor of {}", sizes.cols),
                           fmt::format("{} groups", sizes.groups));
    }
    sizes.group = sizes.groups == 1 ? -1 : sizes.cols / sizes.groups;
  }
  if (index == nullptr || index->dtype != DType::kI32) return sizes;
  const int64_t group = sizes.group > 0 ? sizes.group : sizes.cols;
  if (is_monotone(*index, group)) {
    builder.note_beside({".g_idx"});
  } else {
    builder.claim().stored["group_index"] = *index;
    sizes.group = group;
  }
  return sizes;
}

packing::PackingSpec kn_spec(const ClaimBuilder& builder, const KnSizes& sizes, WordsAlong along) {
  using packing::Scale;
  packing::PackingSpec spec;
  const auto& stored = builder.claim().stored;
  const TensorView& codes = stored.at("codes");
  spec.bits = sizes.bits;
  spec.container = codes.dtype;
  spec.orient = packing::Orientation::kKN;
  spec.law.word_bits = word_bits(codes);
  spec.law.axis = along == WordsAlong::kInputs ? Axis::kK : Axis::kN;
  spec.law.unit =
      along == WordsAlong::kInputs ? packing::UnitScope::kTensor : packing::UnitScope::kLine;
  spec.law.slots = spec.law.word_bits / sizes.bits;
  spec.code_table = packing::CodeTable::rule(packing::CodeTable::Kind::kUnsigned);
  spec.scale.index = Scale::Index::kRowGroup;
  spec.scale.layout = Scale::Layout::kTransposed;
  spec.scale.group = sizes.group;
  spec.scale.dtype = stored.at("scale").dtype;
  spec.zero.kind = packing::Zero::Kind::kInteger;
  spec.zero.bits = sizes.bits;
  spec.zero.dtype = stored.at("zero").dtype;
  spec.zero.packed_axis = Axis::kN;
  spec.group_index = stored.contains("group_index");
  return spec;
}

void state_kn(ClaimBuilder& builder, const KnSizes& sizes, const SaidScheme& said) {
  const std::string sized = "sizes of qweight, qzeros and scales";
  builder.state("bits", sizes.bits, said.bits.empty() ? sized : said.where + ".bits");
  builder.state("scale.group", sizes.group,
                said.group_sizes.empty() ? sized : said.where + ".group_size");
  if (builder.claim().stored.contains("group_index")) {
    builder.state("group_index", true, builder.module() + ".g_idx");
  }
}

}  // namespace trilith::announce
