#include "inspect/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "inspect/announced_sheet.h"
#include "inspect/decision.h"
#include "inspect/evidence_writer.h"
#include "inspect/format_builder.h"
#include "inspect/probe.h"
#include "inspect/probe_search.h"
#include "inspect/reading_search.h"
#include "inspect/worked_example.h"
#include "inspect/workers.h"

namespace trilith::inspect {
namespace {

class Inspector {
 public:
  Inspector(const checkpoint::Checkpoint& checkpoint, const InspectOptions& options)
      : checkpoint_(checkpoint), options_(options) {}

  Result<Sheet> run() {
    describe_container();
    if (Status status = survey(checkpoint_, options_.reference, findings_); !status.ok()) {
      return refuse(status.error());
    }
    if (!findings_.holds_codes()) {
      finish_plain();
      sheet_.verdict = Verdict::kIdentified;
      sheet_.reason = "no packed tensors: every weight is stored as an ordinary number";
      return std::move(sheet_);
    }
    Status found = find_readings(
        checkpoint_, options_.reference, [this] { return can_probe(); }, findings_);
    if (!found.ok()) return refuse(found.error());
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
    describe_checkpoint(checkpoint_, sizes_from_config(config), sheet_);
    const Json& announced = config["quantization_config"];
    sheet_.announced = announced.is_object();
    if (const std::string* method = announced["quant_method"].as_string()) {
      sheet_.framework = *method;
    }
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

  Status assume(const std::string& field, const std::string& value) {
    Status kept = Error::usage("nothing to assume a field of");
    for (FamilySearch& family : findings_.families) {
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
    if (findings_.identities.empty()) {
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
                               build_format(findings_.families, readings, findings_.plain, ids,
                                            findings_.context.sizes));
      return probe->loss(format);
    };
    ProbeOutcome outcome = probe_families(findings_.families, findings_.identities, loss, scale);
    sheet_.probe.tokens = probe->tokens();
    sheet_.probe.uniform_loss = probe->uniform_loss();
    sheet_.probe.lines = std::move(outcome.lines);
    if (outcome.predicted) {
      scale_ = scale;
      std::swap(findings_.identities.front(), findings_.identities[outcome.identities]);
      findings_.identities.front().ids = std::move(outcome.ids);
      undecided_roles_ = std::move(outcome.undecided_roles);
    } else if (!outcome.error.empty()) {
      sheet_.probe.absent_because = outcome.error;
    } else {
      sheet_.probe.absent_because = "no reading makes the text predictable";
    }
  }

  std::optional<model::ModuleId> id_of(const std::string& name) const {
    if (findings_.identities.empty()) return std::nullopt;
    const auto id = findings_.identities.front().ids.find(name);
    if (id == findings_.identities.front().ids.end()) return std::nullopt;
    return id->second;
  }

  Status write_modules() {
    for (size_t f = 0; f < findings_.families.size(); ++f) {
      const FamilySearch& family = findings_.families[f];
      const Reading& best = family.readings.front();
      const Arrangement& arrangement = family.arrangements[best.arrangement];
      sheet_.families.push_back(write_family(family, scale_, assumed_));
      const packing::PackingSpec* rival = nullptr;
      for (const Reading& reading : family.readings) {
        const packing::PackingSpec& spec = reading.hypothesis.spec;
        const bool same_places =
            spec.law == best.hypothesis.spec.law && spec.orient == best.hypothesis.spec.orient;
        if (rival == nullptr && !same_places &&
            reading.hypothesis.spec.code_table == best.hypothesis.spec.code_table) {
          rival = &reading.hypothesis.spec;
        }
      }
      int64_t largest = 0;
      for (const PackedModule& module : arrangement.modules) {
        largest = std::max(largest, module.rows * module.cols);
      }
      std::vector<std::optional<Result<ModuleSheet>>> entries(arrangement.modules.size());
      for_each(entries.size(), largest, [&](size_t m) {
        entries[m] = describe_module(arrangement.modules[m], best.hypothesis.spec, rival);
      });
      for (auto& described : entries) {
        TRILITH_ASSIGN_OR_RETURN(ModuleSheet entry, *std::move(described));
        entry.family = f;
        entry.id = id_of(entry.name);
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
    if (findings_.identities.empty() || !id) {
      evidence.status = Known::kAssumed;
      evidence.test = "none: neither the name nor the order of the modules tells";
    } else if (findings_.identities.front().by_name) {
      evidence.status = Known::kInferred;
      evidence.test = "name and shape";
    } else {
      const bool probed = scale_.has_value() && !undecided_roles_.contains(id->role);
      evidence.status = probed ? Known::kInferred : Known::kAssumed;
      evidence.test = "shape and " + findings_.identities.front().order + (probed ? ", probe" : "");
    }
    return evidence;
  }

  void finish_plain() {
    sheet_.plain.clear();
    std::set<std::string> packed;
    for (const ModuleSheet& module : sheet_.modules) {
      for (const StoredInfo& stored : module.stored) packed.insert(stored.name);
    }
    for (size_t i = 0; i < findings_.summaries.size(); ++i) {
      const TensorView& tensor = checkpoint_.tensors()[i];
      if (packed.contains(tensor.name)) continue;
      PlainSheet entry = describe_plain(tensor, findings_.summaries[i]);
      for (const PlainModule& module : findings_.plain) {
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
  Findings findings_;
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
