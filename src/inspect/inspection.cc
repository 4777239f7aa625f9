#include "inspect/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/announced_sheet.h"
#include "inspect/decision.h"
#include "inspect/evidence_writer.h"
#include "inspect/format_builder.h"
#include "inspect/general_search.h"
#include "inspect/identities.h"
#include "inspect/plain_profiles.h"
#include "inspect/plane_names.h"
#include "inspect/probe.h"
#include "inspect/probe_search.h"
#include "inspect/stored_bytes.h"
#include "inspect/worked_example.h"

namespace trilith::inspect {
namespace {

// The announced format is weighed like a finding of this many nats: more than a close call between
// statistics, less than what bytes that contradict it bring up.
constexpr double kAnnouncement = 20;

// Bytes of codes that are searched again for more than the narrow search found: seconds at most.
constexpr uint64_t kMostSearched = uint64_t{1} << 20;

class Inspector {
 public:
  Inspector(const checkpoint::Checkpoint& checkpoint, const InspectOptions& options)
      : checkpoint_(checkpoint), options_(options) {
    context_.sibling = options.reference;
  }

  Result<Sheet> run() {
    describe_container();
    if (Status status = survey(); !status.ok()) return refuse(status.error());
    if (found_.groups.empty() && classify(modules_).empty()) {
      finish_plain();
      sheet_.verdict = Verdict::kIdentified;
      sheet_.reason = "no packed tensors: every weight is stored as an ordinary number";
      return std::move(sheet_);
    }
    Status found = search();
    if (!found.ok()) {
      if (Status status = search_generally(); !status.ok()) {
        return refuse(found.error());
      }
    } else if (!can_probe()) {
      prefer_general();
    }
    if (options_.reference != nullptr) settle();
    if (Status status = check_bytes(); !status.ok()) return refuse(status.error());
    for (const auto& [field, value] : options_.assume) {
      TRILITH_RETURN_IF_ERROR(assume(field, value));
    }
    probe();
    if (Status status = write_modules(); !status.ok()) return refuse(status.error());
    finish_plain();
    decide();
    return std::move(sheet_);
  }

 private:
  Sheet refuse(const Error& error) {
    sheet_.verdict = Verdict::kRefused;
    sheet_.reason = error.to_string();
    sheet_.modules.clear();
    sheet_.families.clear();
    finish_plain();
    return std::move(sheet_);
  }

  void describe_container() {
    const Json& config = checkpoint_.config();
    context_.sizes = sizes_from_config(config);
    describe_checkpoint(checkpoint_, context_.sizes, sheet_);
    const Json& announced = config["quantization_config"];
    sheet_.announced = announced.is_object();
    if (const std::string* method = announced["quant_method"].as_string()) {
      sheet_.framework = *method;
    }
  }

  // What lies in the file: codes, scales, plain tensors, and what names say of them.
  Status survey() {
    for (const TensorView& tensor : checkpoint_.tensors()) {
      summaries_.push_back(summarise(tensor));
      if (summaries_.back().nan > 0) {
        return Error::damaged(fmt::format("{} values are not finite", summaries_.back().nan))
            .with_tensor(tensor.name);
      }
    }
    modules_ = group_tensors(checkpoint_.tensors(), summaries_);
    found_ = find_codes(modules_);
    context_.lone_tensors = found_.scales_by_size;
    collect_plain({});
    if (Identities named = identify_by_name(found_.groups, plain_); !named.ids.empty()) {
      identities_.push_back(std::move(named));
    }
    context_.heads.head_dim = context_.sizes.head_dim;
    if (context_.sizes.kv_heads > 0) {
      context_.heads.kv_groups = context_.sizes.heads / context_.sizes.kv_heads;
    }
    return {};
  }

  // Modules without codes, leaving out tensors that serve as scales.
  void collect_plain(const std::set<const TensorView*>& taken) {
    plain_.clear();
    for (const StoredModule& module : modules_) {
      const Part* weight = nullptr;
      bool packed = false;
      for (const CodeGroup& group : found_.groups) packed = packed || group.name == module.name;
      for (const Part& part : module.parts) {
        if (packed || taken.contains(part.tensor) || part.suffix.ends_with("bias")) continue;
        if (weight == nullptr && is_float(part.tensor->dtype)) weight = &part;
      }
      if (weight != nullptr) plain_.push_back({module.name, weight});
    }
  }

  void collect_plain_profiles() {
    context_.plain = profile_plain(plain_, context_.ids, context_.sizes.hidden);
  }

  Status search() {
    if (found_.groups.empty()) {
      return Error::unsupported("8-bit floats are not among the formats of the narrow search");
    }
    for (const CodeGroup& group : found_.groups) {
      if (!group.problem.empty()) {
        return Error::unsupported(group.problem).with_tensor(group.name);
      }
    }
    if (!identities_.empty()) context_.ids = identities_.front().ids;
    TRILITH_RETURN_IF_ERROR(search_families());
    if (!identities_.empty()) return {};
    std::vector<PackedModule> packed;
    for (const FamilySearch& family : families_) {
      const auto& own = family.arrangements[family.readings.front().arrangement].modules;
      packed.insert(packed.end(), own.begin(), own.end());
    }
    identities_ = identify_by_order(packed, plain_, context_.sizes);
    if (identities_.empty()) return {};
    context_.ids = identities_.front().ids;  // roles say which profiles belong together
    return search_families();
  }

  Status search_families() {
    families_.clear();
    std::vector<std::pair<DType, size_t>> kinds;
    for (const CodeGroup& group : found_.groups) {
      const std::pair kind{group.codes.front()->tensor->dtype, group.codes.size()};
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    collect_plain_profiles();
    std::set<const TensorView*> taken;
    for (const auto& kind : kinds) {
      std::vector<const CodeGroup*> members;
      for (const CodeGroup& group : found_.groups) {
        if (std::pair{group.codes.front()->tensor->dtype, group.codes.size()} == kind) {
          members.push_back(&group);
        }
      }
      FamilySearch family = search_family(members, context_);
      if (family.readings.empty()) {
        return Error::unsupported(family.refusal).with_tensor(family.module);
      }
      weigh_announcement(family);
      weigh_plane_names(family);
      const auto& modules = family.arrangements[family.readings.front().arrangement].modules;
      for (const PackedModule& module : modules) {
        for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
        taken.insert(module.bias);
      }
      families_.push_back(std::move(family));
    }
    collect_plain(taken);
    return {};
  }

  // Keeps the probe for later: opening it reads the tokenizer.
  bool can_probe() {
    if (!options_.probe) return false;
    default_probe_ = Probe::create(checkpoint_, default_probe_text());
    return default_probe_->ok();
  }

  Result<Probe> open_probe() {
    if (!options_.probe_text.empty()) return Probe::create(checkpoint_, options_.probe_text);
    if (default_probe_) return *std::move(default_probe_);
    return Probe::create(checkpoint_, default_probe_text());
  }

  // Nothing but statistics decides: the general search weighs more of them. It knows no planes of
  // signs, and its reading is taken only where no doubt is left.
  void prefer_general() {
    const auto planes = [](const CodeGroup& group) { return group.codes.size() > 1; };
    if (std::any_of(found_.groups.begin(), found_.groups.end(), planes)) return;
    uint64_t bytes = 0;
    for (const CodeGroup& group : found_.groups) bytes += group.codes.front()->tensor->bytes.size();
    if (bytes > kMostSearched) return;
    std::vector<FamilySearch> narrow = std::move(families_);
    std::vector<PlainModule> plain = std::move(plain_);
    const Status found = search_generally();
    const auto doubtful = [](const FamilySearch& family) { return !family.doubts.empty(); };
    if (found.ok() && std::none_of(families_.begin(), families_.end(), doubtful)) return;
    families_ = std::move(narrow);
    plain_ = std::move(plain);
  }

  // Any width, scale groups, zero points, tables: where the narrower search has no reading.
  Status search_generally() {
    families_.clear();
    std::set<const TensorView*> taken;
    const std::vector<StoredClass> classes = classify(modules_);
    if (classes.empty()) return Error::unsupported("no tensor can hold codes");
    collect_plain_of(classes);
    for (const StoredClass& stored : classes) {
      for (FamilySearch& family : general_search(stored, context_)) {
        if (family.readings.empty()) {
          return Error::unsupported(family.refusal).with_tensor(family.module);
        }
        const auto& modules = family.arrangements[family.readings.front().arrangement].modules;
        for (const PackedModule& module : modules) {
          for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
        }
        families_.push_back(std::move(family));
      }
    }
    collect_plain(taken);
    return {};
  }

  // By the dense sibling: what was found, else what the general search finds beside it.
  void settle() {
    const auto resembles = [&](std::vector<FamilySearch>& families) {
      size_t count = 0;
      for (FamilySearch& family : families) count += settle_by_sibling(family, *options_.reference);
      return count > 0;
    };
    if (resembles(families_)) return;
    std::vector<FamilySearch> before = std::move(families_);
    std::vector<PlainModule> plain = std::move(plain_);
    if (search_generally().ok() && resembles(families_)) return;
    families_ = std::move(before);
    plain_ = std::move(plain);
    for (FamilySearch& family : families_) {
      family.doubts.emplace_back("no matrix of the reference resembles this reading");
    }
  }

  // Whether what was taken for codes can be packed weights at all, and is whole.
  Status check_bytes() const {
    for (const FamilySearch& family : families_) {
      for (const PackedModule& module :
           family.arrangements[family.readings.front().arrangement].modules) {
        for (const auto& [role, tensor] : module.stored) {
          if (role.starts_with("codes")) TRILITH_RETURN_IF_ERROR(like_packed_weights(*tensor));
        }
      }
    }
    return {};
  }

  // Modules that hold no codes are plain.
  void collect_plain_of(const std::vector<StoredClass>& classes) {
    std::set<const TensorView*> taken;
    for (const StoredClass& stored : classes) {
      for (const ClassModule& module : stored.modules) {
        for (const auto& [suffix, tensor] : module.parts) taken.insert(tensor);
      }
    }
    collect_plain(taken);
    collect_plain_profiles();
  }

  // "bitnet" of Hugging Face: quarter planes, code - 1, and a direction that follows linear_class.
  void weigh_announcement(FamilySearch& family) {
    const Json& announced = checkpoint_.config()["quantization_config"];
    if (sheet_.framework != "bitnet") return;
    const std::string* linear_class = announced["linear_class"].as_string();
    const bool multiplies = linear_class != nullptr && *linear_class == "autobitlinear";
    const auto table = packing::CodeTable::list({-1.0, 0.0, 1.0, std::nullopt});
    for (Reading& reading : family.readings) {
      const packing::PackingSpec& spec = reading.hypothesis.spec;
      const bool divides = spec.scale.op == packing::Scale::Op::kDivide;
      if (spec.law.axis == packing::Axis::kN && spec.code_table == table &&
          spec.law.stride.kind == packing::Stride::Kind::kExtentOverSlots &&
          spec.law.slot_order == packing::SlotOrder::kLowFirst && divides != multiplies) {
        reading.hypothesis.add("announced", kAnnouncement);
      }
    }
    rank(family.readings, std::nullopt);
  }

  Status assume(const std::string& field, const std::string& value) {
    Status kept = Error::usage("nothing to assume a field of");
    for (FamilySearch& family : families_) {
      kept = keep_assumed(family.readings, field, value);
      if (!kept.ok()) return kept;
    }
    sheet_.assumptions.push_back(field + " = " + value);
    assumed_.insert(field);
    return kept;
  }

  void probe() {
    sheet_.probe.text_kind = options_.probe_text.empty() ? "built-in" : "given";
    if (!options_.probe) {
      sheet_.probe.absent_because = "switched off";
      return;
    }
    if (identities_.empty()) {
      sheet_.probe.absent_because = "the modules' places in the network are not known";
      return;
    }
    const Result<Probe> probe = open_probe();
    if (!probe.ok()) {
      sheet_.probe.absent_because = probe.error().message;
      return;
    }
    const ProbeScale scale{static_cast<double>(probe->predicted()), probe->uniform_loss()};
    const LossFunction loss = [&](const std::vector<const Reading*>& readings,
                                  const IdsByName& ids) -> Result<double> {
      TRILITH_ASSIGN_OR_RETURN(const model::FormatSheet format,
                               build_format(families_, readings, plain_, ids, context_.sizes));
      return probe->loss(format);
    };
    ProbeOutcome outcome = probe_families(families_, identities_, loss, scale);
    sheet_.probe.tokens = probe->tokens();
    sheet_.probe.uniform_loss = probe->uniform_loss();
    sheet_.probe.lines = std::move(outcome.lines);
    if (outcome.predicted) {
      scale_ = scale;
      std::swap(identities_.front(), identities_[outcome.identities]);
      identities_.front().ids = std::move(outcome.ids);
      undecided_roles_ = std::move(outcome.undecided_roles);
    } else if (!outcome.error.empty()) {
      sheet_.probe.absent_because = outcome.error;
    } else {
      sheet_.probe.absent_because = "no reading makes the text predictable";
    }
  }

  std::optional<model::ModuleId> id_of(const std::string& name) const {
    if (identities_.empty()) return std::nullopt;
    const auto id = identities_.front().ids.find(name);
    if (id == identities_.front().ids.end()) return std::nullopt;
    return id->second;
  }

  Status write_modules() {
    for (size_t f = 0; f < families_.size(); ++f) {
      const FamilySearch& family = families_[f];
      const Reading& best = family.readings.front();
      const Arrangement& arrangement = family.arrangements[best.arrangement];
      sheet_.families.push_back(write_family(family, scale_, assumed_));
      const packing::PackingSpec* rival = nullptr;
      for (const Reading& reading : family.readings) {
        if (rival == nullptr && reading.arrangement != best.arrangement &&
            reading.hypothesis.spec.code_table == best.hypothesis.spec.code_table) {
          rival = &reading.hypothesis.spec;
        }
      }
      for (const PackedModule& module : arrangement.modules) {
        TRILITH_ASSIGN_OR_RETURN(ModuleSheet entry,
                                 describe_module(module, best.hypothesis.spec, rival));
        entry.family = f;
        entry.id = id_of(module.name);
        entry.evidence.push_back(role_evidence(entry.id));
        sheet_.modules.push_back(std::move(entry));
      }
    }
    std::sort(
        sheet_.modules.begin(), sheet_.modules.end(),
        [](const ModuleSheet& a, const ModuleSheet& b) { return natural_less(a.name, b.name); });
    return {};
  }

  Evidence role_evidence(const std::optional<model::ModuleId>& id) const {
    Evidence evidence;
    evidence.field = "role";
    evidence.value = id ? Json(model::module_name(*id)) : Json();
    if (identities_.empty() || !id) {
      evidence.status = Known::kAssumed;
      evidence.test = "none: neither the name nor the order of the modules tells";
    } else if (identities_.front().by_name) {
      evidence.status = Known::kInferred;
      evidence.test = "name and shape";
    } else {
      const bool probed = scale_.has_value() && !undecided_roles_.contains(id->role);
      evidence.status = probed ? Known::kInferred : Known::kAssumed;
      evidence.test = "shape and " + identities_.front().order + (probed ? ", probe" : "");
    }
    return evidence;
  }

  void finish_plain() {
    sheet_.plain.clear();
    std::set<std::string> packed;
    for (const ModuleSheet& module : sheet_.modules) {
      for (const StoredInfo& stored : module.stored) packed.insert(stored.name);
    }
    for (size_t i = 0; i < summaries_.size(); ++i) {
      const TensorView& tensor = checkpoint_.tensors()[i];
      if (packed.contains(tensor.name)) continue;
      PlainSheet entry = describe_plain(tensor, summaries_[i]);
      for (const PlainModule& module : plain_) {
        if (module.weight->tensor->name == tensor.name) entry.id = id_of(module.name);
      }
      for (const ModuleSheet& module : sheet_.modules) {
        if (module.bias != tensor.name) continue;
        entry.id = module.id;
        entry.is_bias = true;
      }
      if (entry.id) entry.id_known = role_evidence(entry.id).status;
      sheet_.plain.push_back(std::move(entry));
    }
  }

  void decide() {
    std::string open;
    for (const FamilySheet& family : sheet_.families) {
      for (const Alternative& alternative : family.alternatives) {
        if (!alternative.matters) continue;
        open += (open.empty() ? "" : "; ") + alternative.differs;
      }
    }
    sheet_.verdict = open.empty() ? Verdict::kIdentified : Verdict::kAmbiguous;
    if (open.empty()) return;
    // First why there was no probe: the list of what it would have settled may be long, and be cut.
    if (!sheet_.probe.absent_because.empty()) {
      sheet_.reason = "no probe (" + sheet_.probe.absent_because + "), and ";
    }
    sheet_.reason += "the bytes leave open: " + open;
  }

  const checkpoint::Checkpoint& checkpoint_;
  const InspectOptions& options_;
  Sheet sheet_;
  SearchContext context_;
  std::vector<TensorSummary> summaries_;
  std::vector<StoredModule> modules_;
  FoundCodes found_;
  std::vector<PlainModule> plain_;
  std::vector<Identities> identities_;
  std::vector<FamilySearch> families_;
  std::optional<Result<Probe>> default_probe_;
  std::optional<ProbeScale> scale_;  // set when the probe found the reading
  std::set<std::string> assumed_;
  std::set<model::Role> undecided_roles_;
};

}  // namespace

Result<Sheet> inspect_checkpoint(const checkpoint::Checkpoint& checkpoint,
                                 const InspectOptions& options) {
  return with_announcement(checkpoint, options,
                           [&] { return Inspector(checkpoint, options).run(); });
}

Sheet refused_sheet(const Error& error) {
  Sheet sheet;
  sheet.reason = error.to_string();
  return sheet;
}

}  // namespace trilith::inspect
