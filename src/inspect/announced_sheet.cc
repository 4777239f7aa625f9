#include "inspect/announced_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "announce/announce.h"
#include "announce/verify.h"
#include "base/rounded.h"
#include "inspect/config_sizes.h"
#include "inspect/decision.h"
#include "inspect/evidence_writer.h"
#include "inspect/module_figures.h"
#include "inspect/name_roles.h"
#include "inspect/stored_bytes.h"
#include "inspect/tensor_summary.h"
#include "inspect/worked_example.h"
#include "inspect/workers.h"

namespace trilith::inspect {
namespace {

using announce::Announcement;
using announce::Claim;
using announce::MatrixShape;
using announce::Verified;

announce::ShapeOf shapes_by_name(const ConfigSizes& sizes) {
  return [sizes](std::string_view module) -> std::optional<MatrixShape> {
    const auto id = id_from_name(module);
    if (!id) return std::nullopt;
    if (id->role == model::Role::kEmbedding) {
      if (sizes.vocab == 0 || sizes.hidden == 0) return std::nullopt;
      return MatrixShape{sizes.vocab, sizes.hidden};
    }
    for (const LogicalShape& shape : linear_shapes(sizes)) {
      if (std::find(shape.roles.begin(), shape.roles.end(), id->role) != shape.roles.end()) {
        return MatrixShape{shape.rows, shape.cols};
      }
    }
    return std::nullopt;
  };
}

// worked_example.h reads words along one line of the matrix.
bool has_lines(const packing::Law& law) {
  return law.axis != packing::Axis::kFlat && law.bitstream == packing::Bitstream::kNone &&
         law.sub_planes.empty() && law.slot_order != packing::SlotOrder::kExplicit &&
         law.stride.granule == 1 && law.tile.kind == packing::TileMap::Kind::kNone;
}

// Weights of a matrix whose codes are counted row by row for the sheet.
constexpr int64_t kMostFigured = int64_t{1} << 26;

class Writer {
 public:
  Writer(const checkpoint::Checkpoint& checkpoint, const Announcement& announcement,
         const DenseSibling* reference)
      : checkpoint_(checkpoint), announcement_(announcement), reference_(reference) {}

  // The sheet, or why the bytes contradict the announcement.
  Result<Sheet> write() {
    describe();
    std::vector<Checked> checked = check_all();
    for (size_t i = 0; i < checked.size(); ++i) {
      const Claim& claim = announcement_.claims[i];
      TRILITH_RETURN_IF_ERROR(std::move(checked[i].status));
      const Verified& verified = checked[i].verified;
      if (verified.contradiction) {
        sheet_.verdict = Verdict::kAmbiguous;
        if (sheet_.reason.empty()) sheet_.reason = verified.contradiction->to_string();
      }
      add_module(claim, verified, std::move(checked[i].module));
    }
    TRILITH_RETURN_IF_ERROR(add_plain());
    sheet_.probe.absent_because = "the format is announced, and held against the bytes";
    return std::move(sheet_);
  }

 private:
  // A claim held against the bytes, with the figures of its matrix.
  struct Checked {
    Status status;
    Verified verified;
    ModuleSheet module;
  };

  // Claims behind the first that fails may be left out.
  std::vector<Checked> check_all() const {
    int64_t largest = 0;
    for (const Claim& claim : announcement_.claims) {
      largest = std::max(largest, claim.rows * claim.cols);
    }
    std::vector<Checked> checked(announcement_.claims.size());
    std::atomic<size_t> failed = checked.size();
    for_each(checked.size(), largest, [&](size_t i) {
      if (i > failed) return;
      checked[i].status = check(announcement_.claims[i], checked[i]);
      if (checked[i].status.ok()) return;
      size_t first = failed;
      while (i < first && !failed.compare_exchange_weak(first, i)) continue;
    });
    return checked;
  }

  Status check(const Claim& claim, Checked& checked) const {
    for (const auto& [role, tensor] : claim.stored) {
      if (role.starts_with("codes")) TRILITH_RETURN_IF_ERROR(like_packed_weights(tensor));
    }
    packing::QuantMatrix matrix;
    TRILITH_ASSIGN_OR_RETURN(checked.verified, announce::verify(claim, &matrix));
    const Verified& verified = checked.verified;
    if (verified.contradiction && !verified.better) return *verified.contradiction;
    if (verified.better) {
      TRILITH_ASSIGN_OR_RETURN(matrix, packing::decode(claim.rivals[*verified.better].spec,
                                                       claim.stored, claim.rows, claim.cols));
    }
    TRILITH_RETURN_IF_ERROR(check_reference(claim, matrix));
    add_word_figures(claim.stored.at("codes"), claim.spec.bits, checked.module);
    if (claim.rows * claim.cols > kMostFigured) return {};
    add_figures(matrix, checked.module);
    if (!matrix.zeros.empty()) checked.module.row_zero_share.reset();  // of level 0 alone
    return {};
  }

  // The reference of the user, where it holds the matrix under the module's name.
  Status check_reference(const Claim& claim, const packing::QuantMatrix& matrix) const {
    if (reference_ == nullptr || !reference_->has_name(claim.module, claim.rows, claim.cols)) {
      return {};
    }
    const auto like = reference_->best(claim.module, claim.rows, claim.cols, matrix.dense());
    if (!like || like->cosine > kResembles) return {};
    return Error::damaged("the announced reading does not resemble the reference")
        .with_tensor(claim.stored.at("codes").name)
        .with_expected(fmt::format("a cosine above {}", kResembles))
        .with_found(fmt::format("{:.3f}", like->cosine));
  }

  void describe() {
    describe_checkpoint(checkpoint_, sizes_from_config(checkpoint_.config()), sheet_);
    sheet_.verdict = Verdict::kIdentified;
    sheet_.announced = true;
    sheet_.framework = announcement_.format;
  }

  // Modules with one spec and one kind of evidence are one family.
  size_t family_of(const packing::PackingSpec& spec, const Claim& claim, const Verified& verified) {
    for (size_t f = 0; f < sheet_.families.size(); ++f) {
      if (sheet_.families[f].spec == spec) return f;
    }
    FamilySheet family;
    family.spec = spec;
    family.description = packing::describe(spec);
    for (const announce::Statement& statement : claim.statements) {
      Evidence evidence;
      evidence.field = statement.field;
      evidence.status = Known::kAnnounced;
      evidence.test = statement.where;
      evidence.value = statement.value;
      family.evidence.push_back(std::move(evidence));
    }
    if (verified.better) {
      Alternative alternative;
      alternative.spec = claim.spec;
      alternative.differs = difference(spec, claim.spec);
      alternative.why = "announced, but the bytes contradict it";
      family.alternatives.push_back(std::move(alternative));
    }
    for (const announce::Rival& rival : claim.rivals) {
      if (!rival.also_announced) continue;
      Alternative alternative;
      alternative.spec = rival.spec;
      alternative.differs = difference(spec, rival.spec);
      alternative.why = "the announcement covers it too, and no test leads: " + rival.name;
      family.alternatives.push_back(std::move(alternative));
      sheet_.verdict = Verdict::kAmbiguous;
      if (sheet_.reason.empty()) {
        sheet_.reason =
            "the bytes leave open which of several orders the announced type has: " + rival.name;
      }
    }
    sheet_.families.push_back(std::move(family));
    return sheet_.families.size() - 1;
  }

  void add_module(const Claim& claim, const Verified& verified, ModuleSheet module) {
    const packing::PackingSpec& spec =
        verified.better ? claim.rivals[*verified.better].spec : claim.spec;
    module.name = claim.module;
    module.id = id_from_name(claim.module);
    module.rows = claim.rows;
    module.cols = claim.cols;
    module.spec = spec;
    module.bias = claim.bias;
    module.activation = activation_of(claim, spec);
    for (const auto& [role, tensor] : claim.stored) {
      module.stored.push_back({role, tensor.name, tensor.dtype, tensor.shape, tensor.bytes.size()});
      taken_.insert(tensor.name);
    }
    taken_.insert(claim.beside.begin(), claim.beside.end());
    module.family = family_of(spec, claim, verified);
    ++sheet_.families[module.family].modules;
    module.zero_share = rounded(verified.codes.zero_share);
    module.unused_count = verified.unused.count;
    module.unused_first = verified.unused.first;
    if (verified.scales.count > 0) {
      module.scale = std::array{verified.scales.min, verified.scales.median, verified.scales.max};
    }
    module.evidence.push_back(role_evidence(module.id));
    for (const announce::Finding& finding : verified.findings) {
      Evidence evidence;
      evidence.field = finding.field;
      evidence.test = finding.test;
      evidence.numbers = finding.numbers;
      module.evidence.push_back(std::move(evidence));
    }
    if (has_lines(spec.law)) {
      module.example =
          work_example(claim.stored.at("codes"), claim.rows, claim.cols, spec, nullptr);
    }
    sheet_.modules.push_back(std::move(module));
  }

  // Formats of weights alone leave the input as it is; a scale of the input that is stored was
  // fixed when the model was quantised.
  static std::string activation_of(const Claim& claim, const packing::PackingSpec& spec) {
    if (spec.activation == packing::Activation::kInt8Token) return "dynamic-token";
    if (spec.activation != packing::Activation::kNone) return "undecidable";
    const bool fixed = std::any_of(claim.beside.begin(), claim.beside.end(), [](const auto& name) {
      return name.ends_with("input_scale") || name.ends_with("input_activation_scale") ||
             name.ends_with("act_per_tensor_scale");
    });
    return fixed ? "static" : "none";
  }

  static Evidence role_evidence(const std::optional<model::ModuleId>& id) {
    Evidence evidence;
    evidence.field = "role";
    evidence.value = id ? Json(model::module_name(*id)) : Json();
    evidence.status = id ? Known::kInferred : Known::kAssumed;
    evidence.test = id ? "name" : "none: the name does not tell";
    return evidence;
  }

  Status add_plain() {
    const std::vector<TensorView>& tensors = checkpoint_.tensors();
    std::vector<TensorSummary> summaries(tensors.size());
    for_each(tensors.size(), 0, [&](size_t i) {
      if (!taken_.contains(tensors[i].name)) summaries[i] = summarise(tensors[i]);
    });
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorView& tensor = tensors[i];
      if (taken_.contains(tensor.name)) continue;
      const TensorSummary& summary = summaries[i];
      if (summary.nan > 0) {
        return Error::damaged(fmt::format("{} values are not finite", summary.nan))
            .with_tensor(tensor.name);
      }
      PlainSheet entry = describe_plain(tensor, summary);
      set_place(entry);
      sheet_.plain.push_back(std::move(entry));
    }
    return {};
  }

  void set_place(PlainSheet& entry) const {
    for (const ModuleSheet& module : sheet_.modules) {
      if (module.bias != entry.name) continue;
      entry.id = module.id;
      entry.is_bias = true;
      return;
    }
    std::string_view name = entry.name;
    if (name.ends_with(".weight")) name.remove_suffix(7);
    entry.id = id_from_name(name);
  }

  const checkpoint::Checkpoint& checkpoint_;
  const Announcement& announcement_;
  const DenseSibling* reference_;
  Sheet sheet_;
  std::set<std::string> taken_;
};

// What the search found although the checkpoint says otherwise.
Sheet contradicted(Sheet sheet, const Error& contradiction) {
  const std::string what = contradiction.to_string();
  if (sheet.verdict == Verdict::kRefused) {
    sheet.reason = what + "; and no reading of its own: " + sheet.reason;
    return sheet;
  }
  sheet.verdict = Verdict::kAmbiguous;
  sheet.reason = what + "; what the bytes say instead is given" +
                 (sheet.reason.empty() ? "" : ": " + sheet.reason);
  return sheet;
}

}  // namespace

Result<Sheet> with_announcement(const checkpoint::Checkpoint& checkpoint,
                                const InspectOptions& options,
                                const std::function<Result<Sheet>()>& search) {
  if (!options.assume.empty()) return search();
  const announce::Recognised announcement =
      announce::announced(checkpoint, shapes_by_name(sizes_from_config(checkpoint.config())));
  if (!announcement || (announcement->ok() && (*announcement)->claims.empty())) return search();
  Result<Sheet> sheet = announcement->ok()
                            ? Writer(checkpoint, **announcement, options.reference).write()
                            : Result<Sheet>(announcement->error());
  if (sheet.ok()) return sheet;
  if (sheet.error().kind == ErrorKind::kUnsupported) {
    return refused_sheet(sheet.error());  // known by name: nothing to search for
  }
  TRILITH_ASSIGN_OR_RETURN(Sheet found, search());
  return contradicted(std::move(found), sheet.error());
}

}  // namespace trilith::inspect
