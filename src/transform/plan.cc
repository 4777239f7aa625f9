#include "transform/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/half.h"
#include "model/rope_rows.h"
#include "packing/codec.h"
#include "packing/numbers.h"

namespace trilith::transform {
namespace {

using model::PartSource;
using packing::PackingSpec;
using packing::QuantMatrix;
using packing::Scale;

// Inputs a scale of a packed module; 0: a whole row, or something that no group describes.
int64_t group_of(const model::ModuleFormat& module) {
  const Scale& scale = module.spec.scale;
  switch (scale.index) {
    case Scale::Index::kRowGroup:
    case Scale::Index::kSubBlock:
      return scale.group > 0 && scale.group < module.cols ? scale.group : 0;
    case Scale::Index::kBlock:
      return module.spec.law.axis == packing::Axis::kK ? scale.group : 0;
    case Scale::Index::kFlatBlock:
      return module.cols % scale.group == 0 ? scale.group : 0;
    default:
      return 0;
  }
}

bool is_embedding(const PartSource& part) { return part.id.role == model::Role::kEmbedding; }

// Whether the part's weights go into the target's format. A packed embedding is a case of its own:
// most readers look rows up in a dense one.
bool is_converted(const Source& source, const PartSource& part) {
  if (is_embedding(part)) return false;
  if (part.is_packed()) return true;
  // A dense model may be a packed one that was unpacked; its head is left alone.
  return source.sheet.modules.empty() && model::is_linear(part.id.role) && !part.is_bias &&
         part.id.role != model::Role::kLmHead;
}

ScaleGrain grain_of(const Source& source) {
  ScaleGrain grain;
  for (const model::ModuleFormat& module : source.sheet.modules) {
    if (module.id.role == model::Role::kEmbedding) continue;
    grain.group = std::gcd(grain.group, group_of(module));
  }
  for (const PartSource& part : source.parts) {
    if (is_converted(source, part)) grain.common = std::gcd(grain.common, part.cols);
  }
  return grain;
}

// Losses of all parts, those of one kind together.
void add_losses(const std::string& module, std::vector<Loss> found, std::vector<Loss>& losses) {
  for (Loss& loss : found) {
    const auto same = std::ranges::find(losses, loss.what, &Loss::what);
    if (same != losses.end()) {
      same->count += loss.count;
      continue;
    }
    loss.first = module + ": " + loss.first;
    losses.push_back(std::move(loss));
  }
}

std::optional<Loss> lost_step(const PartSource& part, const PackingSpec& target) {
  packing::Pre pre;
  packing::Post post = packing::Post::kNone;
  if (part.is_packed()) {
    pre = std::get<1>(part.from)->spec.pre;
    post = std::get<1>(part.from)->spec.post;
  }
  if (pre == target.pre && post == target.post) return std::nullopt;
  return Loss{"a step on the layer's inputs or outputs that only one of the formats has", 1,
              packing::describe(target)};
}

std::string float_type_name(DType dtype) {
  return dtype == DType::kF16 ? "float16" : dtype == DType::kBF16 ? "bfloat16" : "float32";
}

// Rounded to a float type and back.
float through(DType dtype, float value) {
  if (dtype == DType::kF16) return f32_from_f16(f16_from_f32(value));
  if (dtype == DType::kBF16) return f32_from_bf16(bf16_from_f32(value));
  return value;
}

std::optional<Loss> lost_digits(DType dtype, const std::vector<float>& values) {
  Loss loss{fmt::format("values that {} does not hold", dtype_name(dtype)), 0, ""};
  for (size_t i = 0; i < values.size(); ++i) {
    if (through(dtype, values[i]) == values[i]) continue;
    if (loss.count++ == 0) loss.first = fmt::format("{} at {}", values[i], i);
  }
  return loss.count > 0 ? std::optional(loss) : std::nullopt;
}

std::vector<std::byte> as_bytes(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * dtype_size(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF32) {
      std::memcpy(bytes.data() + 4 * i, &values[i], 4);
      continue;
    }
    const uint16_t half = dtype == DType::kF16 ? f16_from_f32(values[i]) : bf16_from_f32(values[i]);
    std::memcpy(bytes.data() + 2 * i, &half, 2);
  }
  return bytes;
}

// The orders in which rows go from the source's to the model's, and from those to the target's.
std::vector<std::vector<int64_t>> moves(const Source& source, const PartSource& part,
                                        const ConvertRequest& request) {
  std::vector<std::vector<int64_t>> all;
  if (auto rows = rows_of_model(source, part); !rows.empty()) all.push_back(std::move(rows));
  if (request.target->ggml != nullptr &&
      model::has_rope_rows(source.spec.model_type, part.id.role)) {
    all.push_back(model::rope_rows(source.spec, part.id.role, model::RowOrder::kToGguf));
  }
  return all;
}

Result<std::vector<float>> dense_values(const Source& source, const PartSource& part,
                                        const ConvertRequest& request) {
  model::LoadOptions options = request.open.load;
  options.fingerprints = false;
  TRILITH_ASSIGN_OR_RETURN(model::LoadedPart loaded,
                           model::load_part(source.checkpoint, part, options));
  auto* const matrix = std::get_if<QuantMatrix>(&loaded.values);
  std::vector<float> values = matrix != nullptr
                                  ? matrix->dense()
                                  : std::move(std::get<model::DenseMatrix>(loaded.values).values);
  for (const std::vector<int64_t>& rows : moves(source, part, request)) {
    values = model::with_rows(values, rows);
  }
  return values;
}

// The matrix as it is stored.
Result<QuantMatrix> stored_codes(const Source& source, const PartSource& part,
                                 const ConvertRequest& request) {
  if (part.is_packed()) {
    model::LoadOptions options = request.open.load;
    options.fingerprints = false;
    TRILITH_ASSIGN_OR_RETURN(model::LoadedPart loaded,
                             model::load_part(source.checkpoint, part, options));
    return std::move(std::get<QuantMatrix>(loaded.values));
  }
  const TensorView& values = *std::get<0>(part.from);
  for (const std::string_view name : {"float-ternary-tensor", "float-ternary"}) {
    PackingSpec spec = packing::find_format(name)->spec;
    spec.container = spec.scale.dtype = values.dtype;
    spec.bits = spec.law.word_bits = static_cast<int>(dtype_size(values.dtype)) * 8;
    auto matrix = packing::decode(spec, {{"codes", values}}, part.rows, part.cols);
    if (matrix.ok()) return matrix;
  }
  return Error::unsupported("the weights are dense and take more values than −s, 0 and s in a row")
      .with_tensor(values.name)
      .with_hint("converting keeps every weight; making a dense model low-bit is quantising it");
}

// Architectures that a GGUF file written here says whole. Readers of the others want more keys than
// are written (windows, scaled angles), or other names.
Status check_ggml_architecture(const model::ModelSpec& spec) {
  constexpr std::string_view kTypes[] = {"llama", "bitnet", "qwen2", "qwen3"};
  const bool known = std::ranges::find(kTypes, spec.model_type) != std::end(kTypes);
  const bool scaled = spec.rope.scaling != model::RopeScaling::kNone;
  if (known && !scaled && spec.layers.empty()) return {};
  return Error::unsupported("GGUF files of this architecture are not written")
      .with_file("config.json")
      .with_expected(fmt::format("{}, without windows and scaled RoPE", fmt::join(kTypes, ", ")))
      .with_found(spec.model_type + (scaled                 ? " with scaled RoPE"
                                     : !spec.layers.empty() ? " with windows"
                                                            : ""));
}

class Planner {
 public:
  Planner(const ConvertRequest& request, const Source& source)
      : request_(request), source_(source), target_(*request.target) {}

  Result<Plan> plan(const std::function<Status()>& after_part) {
    if (target_.ggml != nullptr) {
      TRILITH_RETURN_IF_ERROR(check_ggml_architecture(source_.spec));
    }
    if (target_.row != nullptr) {
      TRILITH_ASSIGN_OR_RETURN(const PackingSpec spec,
                               grouped_spec(target_, grain_of(source_), request_.group));
      specs_ = with_scale_types(target_, spec);
      set_facts(spec);
    } else if (request_.group > 0) {
      return Error::usage("a dense format has no groups to choose the size of");
    }
    for (const PartSource& part : source_.parts) {
      TRILITH_RETURN_IF_ERROR(add(part));
      TRILITH_RETURN_IF_ERROR(after_part());
    }
    for (const std::string& name : source_.others) {
      if (target_.ggml != nullptr) break;  // its readers refuse what they do not know
      const TensorView* tensor = source_.checkpoint.find(name);
      plan_.parts.push_back(
          {nullptr,
           tensor,
           std::nullopt,
           {{"", {name, tensor->dtype, tensor->shape, tensor->bytes.size()}, {}}}});
    }
    // Tensors beside the codes may depend on what all parts have in common.
    for (PlannedPart& part : plan_.parts) {
      if (part.spec) TRILITH_RETURN_IF_ERROR(name_tensors(part));
      for (const PlannedTensor& tensor : part.tensors) plan_.bytes += tensor.tensor.bytes;
    }
    return std::move(plan_);
  }

 private:
  void set_facts(const PackingSpec& spec) {
    ModelFacts& facts = plan_.facts;
    facts.row = target_.name;
    facts.bits = spec.bits;
    facts.group = spec.scale.group;
    facts.is_tensor_scale = spec.scale.index == Scale::Index::kTensor;
    facts.asymmetric_format = spec.zero.kind != packing::Zero::Kind::kNone;
    facts.int8_activations = source_.spec.int8_activations;
    facts.float_type = float_type_name(source_.parts.front().is_packed()
                                           ? DType::kF32
                                           : std::get<0>(source_.parts.front().from)->dtype);
  }

  // ggml computes with vectors in F32 alone.
  DType dense_type(const PartSource& part) const {
    const bool vector = part.is_bias || model::is_norm(part.id.role);
    if (target_.ggml != nullptr && vector) return DType::kF32;
    return target_.dense.value_or(part.is_packed() ? DType::kF32 : std::get<0>(part.from)->dtype);
  }

  std::string dense_name(const PartSource& part) const {
    if (target_.ggml == nullptr) return part.is_bias ? part.name() : part.name() + ".weight";
    std::string name = model::gguf_destination(part.id, source_.spec.model_type).name;
    if (part.is_bias) name.replace(name.rfind('.'), std::string::npos, ".bias");
    return name;
  }

  Status add(const PartSource& part) {
    if (target_.dense) return add_dense(part, dense_type(part));
    if (is_embedding(part) && part.is_packed()) return add_packed_embedding(part);
    if (!is_converted(source_, part)) {
      if (model::is_linear(part.id.role) && !part.is_bias) {
        plan_.facts.unpacked.push_back(model::module_name(part.id));
      }
      return add_dense(part, dense_type(part));
    }
    TRILITH_ASSIGN_OR_RETURN(std::vector<Loss> losses, add_packed(part));
    add_losses(part.name(), std::move(losses), plan_.losses);
    return {};
  }

  // Packed where the target's file may hold it so and keeps every value; else dense, in the
  // smallest type that holds them all.
  Status add_packed_embedding(const PartSource& part) {
    if (target_.ggml != nullptr) {
      TRILITH_ASSIGN_OR_RETURN(const std::vector<Loss> losses, add_packed(part));
      if (losses.empty()) return {};
    }
    TRILITH_ASSIGN_OR_RETURN(const std::vector<float> values,
                             dense_values(source_, part, request_));
    const DType dtype = lost_digits(DType::kF16, values) ? DType::kF32 : DType::kF16;
    plan_.notes.push_back(fmt::format(
        "the embedding, packed in the source, is written dense, as {}", dtype_name(dtype)));
    return add_dense(part, dtype);
  }

  Status add_dense(const PartSource& part, DType dtype) {
    const bool same = !part.is_packed() && std::get<0>(part.from)->dtype == dtype;
    // Loaded in any case: damaged values are found before anything is written.
    TRILITH_ASSIGN_OR_RETURN(const std::vector<float> values,
                             dense_values(source_, part, request_));
    if (!same) {
      if (auto loss = lost_digits(dtype, values)) {
        add_losses(part.name(), {std::move(*loss)}, plan_.losses);
      }
    }
    Shape shape = {part.rows};
    if (!part.is_bias && !model::is_norm(part.id.role)) shape.push_back(part.cols);
    const std::string name = dense_name(part);
    TRILITH_ASSIGN_OR_RETURN(const uint64_t bytes, byte_count(dtype, shape));
    plan_.parts.push_back({&part, nullptr, std::nullopt, {{"", {name, dtype, shape, bytes}, {}}}});
    return {};
  }

  // What would be lost; nothing is added then.
  Result<std::vector<Loss>> add_packed(const PartSource& part) {
    std::vector<Loss> least;
    if (target_.ggml != nullptr &&
        !checkpoint::ggml_bytes(*target_.ggml, Shape{part.rows, part.cols})) {
      least.push_back({"the shape", 0,
                       fmt::format("{} inputs are no multiple of the blocks of {}", part.cols,
                                   target_.ggml->block)});
      return least;
    }
    TRILITH_ASSIGN_OR_RETURN(const QuantMatrix matrix, load_codes(source_, part, request_));
    for (const PackingSpec& typed : specs_) {
      PackingSpec spec = typed;
      spec.activation = source_.spec.int8_activations ? packing::Activation::kInt8Token
                                                      : packing::Activation::kNone;
      carry_group_index(matrix, spec);
      Recoded recoded = recode(matrix, spec);
      if (auto step = lost_step(part, spec)) recoded.losses.push_back(std::move(*step));
      if (recoded.losses.empty()) {
        note_zeros(recoded.matrix, spec);
        plan_.facts.packed.push_back(model::module_name(part.id));
        plan_.parts.push_back({&part, nullptr, std::move(spec), {}});
        return std::vector<Loss>();
      }
      if (least.empty()) least = std::move(recoded.losses);  // in the format's own type
    }
    return least;
  }

  // GPTQ and compressed-tensors store columns in another order than their groups.
  void carry_group_index(const QuantMatrix& matrix, PackingSpec& spec) {
    if (matrix.group_index.empty() || target_.library == nullptr) return;
    if (!target_.library->suffixes.contains("group_index")) return;
    if (spec.scale.group != matrix.scale.group) return;
    spec.group_index = true;
    plan_.facts.group_index = true;
  }

  void note_zeros(const QuantMatrix& matrix, const PackingSpec& spec) {
    if (spec.zero.kind != packing::Zero::Kind::kInteger) return;
    const auto middle = static_cast<float>(int64_t{1} << (spec.bits - 1));
    const bool symmetric = std::ranges::all_of(matrix.zeros, [&](float z) { return z == middle; });
    plan_.facts.symmetric = plan_.facts.symmetric && symmetric;
  }

  Status name_tensors(PlannedPart& part) const {
    const std::string module = model::module_name(part.source->id);
    auto layout = packing::stored_layout(*part.spec, part.source->rows, part.source->cols);
    if (!layout.ok()) return std::move(layout).error().with_tensor(module);
    if (target_.ggml != nullptr) {
      const Shape shape = {part.source->rows, part.source->cols};
      const auto bytes = checkpoint::ggml_bytes(*target_.ggml, shape);
      TRILITH_CHECK(bytes && layout->size() == 1);
      part.tensors.push_back({"codes", {dense_name(*part.source), DType::kU8, shape, *bytes}, {}});
      return {};
    }
    for (auto& [role, stored] : *layout) {
      std::string suffix = plain_suffix(role);
      Shape shape = stored.shape;
      if (const Library* library = target_.library) {
        const auto known = library->suffixes.find(role);
        if (known != library->suffixes.end()) suffix = known->second;
        if (library->shape != nullptr) {
          shape = library->shape(role, *part.spec, shape, part.source->cols);
        }
      }
      TRILITH_ASSIGN_OR_RETURN(const uint64_t bytes, byte_count(stored.dtype, shape));
      part.tensors.push_back({role, {module + suffix, stored.dtype, std::move(shape), bytes}, {}});
    }
    if (target_.library != nullptr && target_.library->beside != nullptr) {
      for (BesideTensor& beside :
           target_.library->beside(*part.spec, part.source->rows, part.source->cols, plan_.facts)) {
        const uint64_t bytes = beside.tensor.bytes.size();
        part.tensors.push_back(
            {"",
             {module + beside.suffix, beside.tensor.dtype, beside.tensor.shape, bytes},
             std::move(beside.tensor.bytes)});
      }
    }
    std::ranges::stable_sort(part.tensors, [](const PlannedTensor& a, const PlannedTensor& b) {
      return dtype_size(a.tensor.dtype) > dtype_size(b.tensor.dtype);  // keeps the data aligned
    });
    return {};
  }

  const ConvertRequest& request_;
  const Source& source_;
  const Target& target_;
  std::vector<PackingSpec> specs_;
  Plan plan_;
};

}  // namespace

Result<Plan> make_plan(const ConvertRequest& request, const Source& source,
                       const std::function<Status()>& after_part) {
  return Planner(request, source).plan(after_part);
}

Result<QuantMatrix> load_codes(const Source& source, const PartSource& part,
                               const ConvertRequest& request) {
  TRILITH_ASSIGN_OR_RETURN(QuantMatrix matrix, stored_codes(source, part, request));
  for (const std::vector<int64_t>& rows : moves(source, part, request)) {
    auto moved = model::with_rows(std::move(matrix), rows);
    if (!moved.ok()) return std::move(moved).error().with_tensor(part.name());
    matrix = std::move(moved).value();
  }
  return matrix;
}

Status encode_part(const ConvertRequest& request, const Source& source, const PlannedPart& part,
                   const TensorSink& sink) {
  const TensorToCome& first = part.tensors.front().tensor;
  if (part.carried != nullptr) return sink(first, part.carried->bytes);
  if (!part.spec) {
    const auto* const stored = std::get_if<const TensorView*>(&part.source->from);
    if (stored != nullptr && (*stored)->dtype == first.dtype &&
        moves(source, *part.source, request).empty()) {
      return sink(first, (*stored)->bytes);
    }
    TRILITH_ASSIGN_OR_RETURN(const std::vector<float> values,
                             dense_values(source, *part.source, request));
    return sink(first, as_bytes(first.dtype, values));
  }
  TRILITH_ASSIGN_OR_RETURN(const QuantMatrix matrix, load_codes(source, *part.source, request));
  const Recoded recoded = recode(matrix, *part.spec);
  TRILITH_CHECK(recoded.losses.empty());
  const auto stored = packing::encode(*part.spec, recoded.matrix);
  if (!stored.ok()) return Error(stored.error()).with_tensor(part.source->name());
  for (const PlannedTensor& tensor : part.tensors) {
    TRILITH_RETURN_IF_ERROR(
        sink(tensor.tensor, tensor.role.empty() ? tensor.bytes : stored->at(tensor.role).bytes));
  }
  return {};
}

}  // namespace trilith::transform
