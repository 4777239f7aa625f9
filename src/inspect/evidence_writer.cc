#include "inspect/evidence_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rounded.h"
#include "inspect/grouping.h"
#include "inspect/module_figures.h"
#include "inspect/numbers.h"
#include "inspect/worked_example.h"
#include "packing/codec.h"

namespace trilith::inspect {
namespace {

// Fields that need no line: they follow from others or hold their only value.
bool is_silent(const std::string& field) {
  return field == "container" || field == "activation" || field == "post" || field == "zero" ||
         field == "scale.factor" || field == "scale.group" || field == "law.byte_order" ||
         field == "law.unit" || field == "scale.dtype" || field.starts_with("pad");
}

Evidence lead_evidence(const FieldLead& lead, const std::optional<ProbeScale>& probe) {
  Evidence evidence;
  evidence.field = lead.field;
  evidence.value = lead.value;
  if (lead.rival == nullptr) {
    const bool codes = lead.field == "bits" || lead.field == "symbol" || lead.field == "code_table";
    evidence.test = codes ? "alphabet" : lead.field.starts_with("scale") ? "scale sizes" : "sizes";
    return evidence;
  }
  evidence.status = lead.settled() ? Known::kInferred : Known::kAssumed;
  if (lead.decisive_test == "announced") evidence.status = Known::kAnnounced;
  evidence.test = lead.settled() ? lead.decisive_test : "none decisive";
  Json numbers = Json::object();
  numbers.set("runner_up", lead.rival_value);
  numbers.set("lead_nats", rounded(lead.lead));
  if (probe && lead.rival->hypothesis.probe_loss) {
    numbers.set("runner_up_loss", rounded(*lead.rival->hypothesis.probe_loss));
  }
  evidence.numbers = std::move(numbers);
  return evidence;
}

void add_alignment(const FamilySearch& family, FamilySheet& sheet) {
  const size_t best = family.readings.front().arrangement;
  const Alignment& alignment = family.alignments[best];
  if (alignment.kinds.empty()) return;
  Evidence entry;
  entry.field = "law";
  entry.test = "alignment";
  entry.value = Json();
  entry.status = alignment.p_value <= 0.001 ? Known::kInferred : Known::kAssumed;
  Json numbers = Json::object();
  numbers.set("p_value", rounded(alignment.p_value));
  numbers.set("nats", rounded(alignment.nats));
  double next = 0;
  for (size_t i = 0; i < family.alignments.size(); ++i) {
    if (i != best) next = std::max(next, family.alignments[i].nats);
  }
  if (family.alignments.size() > 1) numbers.set("runner_up_nats", rounded(next));
  entry.numbers = std::move(numbers);
  sheet.evidence.push_back(std::move(entry));
  for (const auto& [what, kind] : alignment.kinds) {
    sheet.alignment.push_back({what, kind.pairs, rounded(kind.mean_rho), rounded(kind.nats)});
  }
  std::stable_sort(sheet.alignment.begin(), sheet.alignment.end(),
                   [](const AlignmentLine& a, const AlignmentLine& b) { return a.nats > b.nats; });
}

void add_zero_code(const FamilySearch& family, std::vector<Evidence>& evidence) {
  if (family.codes.empty()) return;
  Evidence entry;
  entry.field = "code_table";
  entry.test = "zero code";
  entry.value = Json(family.codes[static_cast<size_t>(family.zero.zero)]);
  entry.status = family.zero.lead >= kDecisive ? Known::kInferred : Known::kAssumed;
  Json counts = Json::object();
  for (size_t code = 0; code < family.code_counts.size(); ++code) {
    counts.set(fmt::format("code_{}", code), family.code_counts[code]);
  }
  for (size_t i = 0; i < 3; ++i) {
    counts.set(fmt::format("nats_against_zero_{}", family.codes[i]), rounded(-family.zero.nats[i]));
  }
  entry.numbers = std::move(counts);
  evidence.push_back(std::move(entry));
}

// What the tests of a large family looked at.
void add_sample(const FamilySearch& family, FamilySheet& sheet) {
  if (family.weighed == 0 || family.weighed >= sheet.modules) return;
  Evidence entry;
  entry.field = "sample";
  entry.test = "modules weighed for every reading; all are decoded under the one that was chosen";
  entry.value = Json();
  Json numbers = Json::object();
  numbers.set("weighed", family.weighed);
  numbers.set("of", sheet.modules);
  entry.numbers = std::move(numbers);
  sheet.evidence.push_back(std::move(entry));
}

std::string why_open(const Reading& best, const Reading& rival) {
  const packing::PackingSpec& a = best.hypothesis.spec;
  const packing::PackingSpec& b = rival.hypothesis.spec;
  if (best.arrangement != rival.arrangement) {
    return "another order of the same codes; no neighbouring tensor tells them apart";
  }
  if (a.scale.op != b.scale.op) return "scales near one: multiplying and dividing are both usual";
  if (a.code_table != b.code_table || a.planes != b.planes) {
    return "which of the sign codes is +1, or which code is zero, is not in the statistics";
  }
  return "the tests do not separate them";
}

}  // namespace

FamilySheet write_family(const FamilySearch& family, const std::optional<ProbeScale>& probe,
                         const std::set<std::string>& assumed) {
  FamilySheet sheet;
  const Reading& best = family.readings.front();
  const Arrangement& arrangement = family.arrangements[best.arrangement];
  sheet.spec = best.hypothesis.spec;
  sheet.description = packing::describe(best.hypothesis.spec);
  sheet.modules = arrangement.modules.size();
  for (const FieldLead& lead : field_leads(family.readings, probe)) {
    if (is_silent(lead.field) && lead.rival == nullptr) continue;
    Evidence evidence = lead_evidence(lead, probe);
    if (assumed.contains(lead.field)) {
      evidence.status = Known::kAssumed;
      evidence.test = "the user's word";
    }
    sheet.evidence.push_back(std::move(evidence));
  }
  if (arrangement.scale) {
    Evidence scale;
    scale.field = "scale.tensor";
    scale.status = arrangement.scale_assumed ? Known::kAssumed : Known::kInferred;
    scale.test = arrangement.scale_rule;
    scale.value = arrangement.modules.front().stored.at("scale")->name;
    sheet.evidence.push_back(std::move(scale));
  }
  add_sample(family, sheet);
  add_zero_code(family, sheet.evidence);
  add_alignment(family, sheet);
  for (const Reading* rival : open_rivals(family.readings, probe)) {
    Alternative alternative;
    alternative.spec = rival->hypothesis.spec;
    alternative.differs = difference(best.hypothesis.spec, rival->hypothesis.spec);
    alternative.why = why_open(best, *rival);
    sheet.alternatives.push_back(std::move(alternative));
  }
  if (arrangement.scale && arrangement.scale_assumed && !probe) {
    sheet.alternatives.push_back({best.hypothesis.spec, "the scales of two modules are exchanged",
                                  "several tensors have the size of a scale, and only their order "
                                  "says which belongs to which module"});
  }
  for (const std::string& doubt : family.doubts) {
    sheet.alternatives.push_back({best.hypothesis.spec, doubt, "the reading explains too little"});
  }
  return sheet;
}

void describe_checkpoint(const checkpoint::Checkpoint& checkpoint, const ConfigSizes& sizes,
                         Sheet& sheet) {
  sheet.container = std::string(checkpoint::container_name(checkpoint.container()));
  sheet.architecture = sizes.architecture;
  sheet.model_type = sizes.model_type;
  sheet.templates = name_templates(checkpoint.tensors());
}

PlainSheet describe_plain(const TensorView& tensor, const TensorSummary& summary) {
  PlainSheet entry;
  entry.name = tensor.name;
  entry.dtype = tensor.dtype;
  entry.shape = tensor.shape;
  entry.min = summary.min;
  entry.max = summary.max;
  entry.distinct = summary.distinct;
  entry.nan = summary.nan;
  return entry;
}

Result<ModuleSheet> describe_module(const PackedModule& module, const packing::PackingSpec& spec,
                                    const packing::PackingSpec* rival) {
  packing::TensorsByRole tensors;
  ModuleSheet sheet;
  sheet.name = module.name;
  sheet.rows = module.rows;
  sheet.cols = module.cols;
  sheet.spec = spec;
  for (const auto& [role, tensor] : module.stored) {
    tensors[role] = *tensor;
    sheet.stored.push_back(
        {role, tensor->name, tensor->dtype, tensor->shape, tensor->bytes.size()});
  }
  if (module.bias != nullptr) sheet.bias = module.bias->name;
  auto decoded = packing::decode(spec, tensors, module.rows, module.cols);
  if (!decoded.ok()) return std::move(decoded).error().with_tensor(module.name);
  add_figures(*decoded, sheet);
  add_word_figures(*module.stored.at("codes"), spec.bits, sheet);
  sheet.example = work_example(*module.stored.at("codes"), module.rows, module.cols, spec, rival);
  if (rival != nullptr) sheet.example.runner_up = difference(spec, *rival);
  return sheet;
}

}  // namespace trilith::inspect
