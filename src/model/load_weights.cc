#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/log.h"
#include "base/sha256.h"
#include "base/thread_pool.h"
#include "model/gguf_format.h"
#include "model/load_part.h"
#include "model/rope_rows.h"

namespace trilith::model {
namespace {

using checkpoint::Checkpoint;

// Finds the source of every part before any data is read, and keeps account of the tensors used.
class Planner {
 public:
  // `in_model_order`: stored rows of q and k are put into the order of the model.
  Planner(const Checkpoint& checkpoint, const ModelSpec& spec, const FormatSheet& sheet,
          bool in_model_order)
      : checkpoint_(checkpoint), spec_(spec), sheet_(sheet), in_model_order_(in_model_order) {
    for (const ModuleFormat& module : sheet.modules) packed_[module_name(module.id)] = &module;
  }

  Result<std::vector<PartSource>> plan() {
    for (const ModuleId& id : modules_of(spec_)) {
      TRILITH_RETURN_IF_ERROR(add_weight(id));
      if (is_linear(id.role)) TRILITH_RETURN_IF_ERROR(add_bias(id));
    }
    if (!missing_.empty()) return missing_error();
    if (spec_.tie_word_embeddings) TRILITH_RETURN_IF_ERROR(check_tied_head());
    return std::move(sources_);
  }

  std::vector<std::string> left_over() const {
    std::vector<std::string> others;
    for (const TensorView& tensor : checkpoint_.tensors()) {
      if (!used_.contains(tensor.name)) others.push_back(tensor.name);
    }
    return others;
  }

  void report_left_over() const {
    std::vector<std::string_view> others;
    for (const TensorView& tensor : checkpoint_.tensors()) {
      if (used_.contains(tensor.name)) continue;
      if (tensor.name.ends_with("rotary_emb.inv_freq")) {  // recomputed from rope_theta
        log_debug("not used: " + tensor.name);
      } else {
        others.push_back(tensor.name);
      }
    }
    if (others.empty()) return;
    const size_t shown = std::min<size_t>(others.size(), 3);
    log_warning(fmt::format(
        "{}: {} tensor(s) belong to no part of the model: {}{}", checkpoint_.folder(),
        others.size(), fmt::join(others.begin(), others.begin() + static_cast<int>(shown), ", "),
        others.size() > shown ? ", …" : ""));
  }

 private:
  Status add_weight(const ModuleId& id) {
    const MatrixShape shape = module_shape(spec_, id.role);
    PartSource source{.id = id, .rows = shape.rows, .cols = shape.cols, .from = {}};
    const auto packed = packed_.find(source.name());
    if (packed == packed_.end()) return add_dense(source, ".weight");
    const ModuleFormat& format = *packed->second;
    if (!is_linear(id.role) && id.role != Role::kEmbedding) {
      return Error::unsupported("only linears and the embedding may be packed, not " +
                                std::string(role_name(id.role)))
          .with_file(checkpoint_.folder())
          .with_tensor(format.name);
    }
    if (format.rows != shape.rows || format.cols != shape.cols) {
      return Error::damaged("the format sheet's shape disagrees with config.json")
          .with_file(checkpoint_.folder())
          .with_tensor(format.name)
          .with_expected(fmt::format("[{}, {}] for {}", shape.rows, shape.cols, source.name()))
          .with_found(fmt::format("[{}, {}]", format.rows, format.cols));
    }
    for (const auto& [role, name] : format.stored) used_.insert(name);
    source.from = &format;
    sources_.push_back(source);
    set_row_order(sources_.back());
    return {};
  }

  void set_row_order(PartSource& source) const {
    if (!in_model_order_ || !has_rope_rows(gguf_architecture_of(checkpoint_), source.id.role))
      return;
    source.stored_rows = rope_rows(spec_, source.id.role, RowOrder::kToTransformers);
  }

  Status add_bias(const ModuleId& id) {
    const MatrixShape shape = module_shape(spec_, id.role);
    PartSource source{.id = id, .is_bias = true, .rows = shape.rows, .cols = 1, .from = {}};
    if (has_bias(spec_, id.role)) return add_dense(source, "");
    const TensorView* tensor = checkpoint_.find(stored_name(source, ""));
    if (tensor == nullptr) return {};
    used_.insert(tensor->name);
    for (uint64_t i = 0; i < tensor->count(); ++i) {
      if (element_as_double(*tensor, i) == 0) continue;
      return Error::damaged("the checkpoint has a bias that config.json does not announce")
          .with_file(checkpoint_.file_of(tensor->name))
          .with_tensor(tensor->name)
          .with_expected(expected_of_bias(id.role));
    }
    return {};
  }

  std::string expected_of_bias(Role role) const {
    if (role == Role::kLmHead) return "no bias on the head";
    const bool attention = role == Role::kQProj || role == Role::kKProj || role == Role::kVProj ||
                           role == Role::kOProj;
    return fmt::format("\"{}\": true, where {} reads it", attention ? "attention_bias" : "mlp_bias",
                       spec_.architecture);
  }

  std::string stored_name(const PartSource& source, std::string_view suffix) const {
    const auto renamed = sheet_.plain.find(source.name());
    return renamed != sheet_.plain.end() ? renamed->second : source.name().append(suffix);
  }

  Status add_dense(PartSource source, std::string_view suffix) {
    const std::string name = stored_name(source, suffix);
    const TensorView* tensor = checkpoint_.find(name);
    if (tensor == nullptr) {
      missing_.push_back(name);
      return {};
    }
    used_.insert(tensor->name);
    Status fits = check_dense(source, *tensor);
    if (!fits.ok()) return std::move(fits).error().with_file(checkpoint_.file_of(tensor->name));
    source.from = tensor;
    sources_.push_back(source);
    set_row_order(sources_.back());
    return {};
  }

  Error missing_error() const {
    const std::string more =
        missing_.size() > 1 ? fmt::format(" and {} others", missing_.size() - 1) : "";
    return Error::damaged("the checkpoint lacks this tensor" + more)
        .with_file(checkpoint_.folder())
        .with_tensor(missing_.front())
        .with_hint("if the weights have other names, `trilith inspect --save` maps them");
  }

  // Many files hold the tied head once more; transformers unties when the two differ, other
  // programs do not.
  Status check_tied_head() {
    const ModuleId head{Role::kLmHead, -1};
    const PartSource source{.id = head, .from = {}};
    const TensorView* stored = checkpoint_.find(stored_name(source, ".weight"));
    const bool packed = packed_.contains(source.name());
    if (stored == nullptr && !packed) return {};
    const PartSource embedding_source{.id = {Role::kEmbedding, -1}, .from = {}};
    const TensorView* embedding = checkpoint_.find(stored_name(embedding_source, ".weight"));
    if (!packed && stored->dtype == embedding->dtype && stored->shape == embedding->shape &&
        std::ranges::equal(stored->bytes, embedding->bytes)) {
      used_.insert(stored->name);
      return {};
    }
    return Error::ambiguous("config.json ties the head to the embedding, but another is stored")
        .with_file(checkpoint_.folder())
        .with_tensor(packed ? packed_.at(source.name())->name : stored->name)
        .with_hint("set \"tie_word_embeddings\": false to use the stored head, or remove it");
  }

  const Checkpoint& checkpoint_;
  const ModelSpec& spec_;
  const FormatSheet& sheet_;
  bool in_model_order_;
  std::unordered_map<std::string, const ModuleFormat*> packed_;
  std::vector<PartSource> sources_;
  std::set<std::string, std::less<>> used_;
  std::vector<std::string> missing_;
};

void account(const Checkpoint& checkpoint, const PartSource& source, Weights::Bytes& bytes) {
  uint64_t codes = 0;
  uint64_t side = 0;
  if (source.is_packed()) {
    for (const auto& [role, name] : std::get<1>(source.from)->stored) {
      (role.starts_with("codes") ? codes : side) += checkpoint.find(name)->bytes.size();
    }
  } else {
    codes = std::get<0>(source.from)->bytes.size();
  }
  if (source.id.role == Role::kLmHead) {
    bytes.head += codes + side;
  } else if (source.id.role == Role::kEmbedding) {
    bytes.embedding += codes + side;
  } else if (source.is_packed()) {
    bytes.packed += codes;
    bytes.scales += side;
  } else if (is_norm(source.id.role)) {
    bytes.norms += codes;
  } else {
    bytes.dense += codes;
  }
}

std::vector<float>& gain_of(Weights& weights, const ModuleId& id) {
  if (id.role == Role::kFinalNorm) return weights.final_norm;
  return weights.layers[static_cast<size_t>(id.layer)].gain(id.role);
}

void to_dense(std::variant<packing::QuantMatrix, DenseMatrix>& values) {
  const auto* const matrix = std::get_if<packing::QuantMatrix>(&values);
  if (matrix == nullptr) return;
  DenseMatrix dense{matrix->rows, matrix->cols, DType::kF32, matrix->dense()};
  values = std::move(dense);
}

void place(const PartSource& source, LoadedPart part, Weights& weights) {
  if (source.id.role == Role::kEmbedding) {
    TRILITH_CHECK(part.values.index() == 1);
    weights.embedding = std::get<1>(std::move(part.values));
    return;
  }
  if (is_norm(source.id.role)) {
    gain_of(weights, source.id) = std::get<1>(std::move(part.values)).values;
    return;
  }
  Linear& linear =
      source.id.role == Role::kLmHead
          ? weights.lm_head
          : weights.layers[static_cast<size_t>(source.id.layer)].linear(source.id.role);
  if (source.is_bias) {
    linear.bias = std::get<1>(std::move(part.values)).values;
  } else {
    linear.weight = std::move(part.values);
  }
}

std::string overall_fingerprint(const std::map<std::string, Fingerprint>& prints) {
  std::string text;
  for (const auto& [name, print] : prints) {
    text += fmt::format("{} {} {} {}\n", name, hex64(print.ordered), hex64(print.multiset),
                        print.count);
  }
  return sha256_hex(std::as_bytes(std::span(text.data(), text.size()))).substr(0, 32);
}

}  // namespace

Result<PartPlan> plan_parts(const Checkpoint& checkpoint, const ModelSpec& spec,
                            const FormatSheet& sheet) {
  Planner planner(checkpoint, spec, sheet, false);
  PartPlan plan;
  TRILITH_ASSIGN_OR_RETURN(plan.sources, planner.plan());
  plan.left_over = planner.left_over();
  return plan;
}

Result<Weights> load_weights(const Checkpoint& checkpoint, const ModelSpec& spec,
                             const FormatSheet& sheet, const LoadOptions& options) {
  Planner planner(checkpoint, spec, sheet, true);
  TRILITH_ASSIGN_OR_RETURN(const std::vector<PartSource> sources, planner.plan());

  std::vector<std::optional<Result<LoadedPart>>> parts(sources.size());
  ThreadPool pool(options.threads);
  pool.parallel_for(sources.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      parts[i] = load_part(checkpoint, sources[i], options);
      // Rows of the embedding are looked up, not multiplied.
      if (sources[i].id.role == Role::kEmbedding && parts[i]->ok()) to_dense((*parts[i])->values);
    }
  });

  Weights weights;
  weights.spec = spec;
  weights.tied = spec.tie_word_embeddings;
  weights.lm_head.weight = DenseMatrix{};
  weights.layers.resize(static_cast<size_t>(spec.num_hidden_layers));
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!parts[i]->ok()) return std::move(*parts[i]).error();
    LoadedPart part = std::move(*parts[i]).value();
    if (options.fingerprints) weights.module_fingerprints[sources[i].name()] = part.fingerprint;
    account(checkpoint, sources[i], weights.bytes);
    place(sources[i], std::move(part), weights);
  }
  if (options.fingerprints) weights.fingerprint = overall_fingerprint(weights.module_fingerprints);
  planner.report_left_over();
  return weights;
}

}  // namespace trilith::model
