#include "inspect/decision.h"

#include <algorithm>
#include <set>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

void flatten(const Json& json, const std::string& prefix,
             std::vector<std::pair<std::string, Json>>& fields) {
  if (const Json::Object* object = json.as_object()) {
    for (const auto& [key, value] : *object) {
      flatten(value, prefix.empty() ? key : prefix + "." + key, fields);
    }
  } else {
    fields.emplace_back(prefix, json);
  }
}

const Json* find_field(const std::vector<std::pair<std::string, Json>>& fields,
                       const std::string& name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

// The test in which `best` gains most on `rival`.
std::string decisive_test(const Hypothesis& best, const Hypothesis& rival,
                          const std::optional<ProbeScale>& probe) {
  std::string test;
  double most = 0;
  std::set<std::string> names;
  for (const auto& [name, nats] : best.nats_by_test) names.insert(name);
  for (const auto& [name, nats] : rival.nats_by_test) names.insert(name);
  for (const std::string& name : names) {
    const double gain = best.nats_of(name) - rival.nats_of(name);
    if (gain > most) {
      most = gain;
      test = name;
    }
  }
  const double statistics = best.nats - rival.nats;
  if (probe && total_nats(best, probe) - total_nats(rival, probe) - statistics > most) {
    test = "probe";
  }
  return test;
}

// What `best` is ahead by convention and by luck: that orders readings, and settles nothing.
double idle_lead(const Hypothesis& best, const Hypothesis& rival) {
  const double aligned = best.nats_of("alignment") - rival.nats_of("alignment");
  return best.nats_of("order convention") - rival.nats_of("order convention") +
         std::clamp(aligned, 0.0, best.order_luck);
}

}  // namespace

std::vector<std::pair<std::string, Json>> spec_fields(const packing::PackingSpec& spec) {
  std::vector<std::pair<std::string, Json>> fields;
  flatten(packing::to_json(spec), "", fields);
  return fields;
}

std::string difference(const packing::PackingSpec& spec, const packing::PackingSpec& other) {
  std::string text;
  const auto own = spec_fields(spec);
  const auto add = [&text](const std::string& field, const std::string& value) {
    text += (text.empty() ? "" : ", ") + field + " = " + value;
  };
  const auto theirs = spec_fields(other);
  for (const auto& [field, value] : theirs) {
    const Json* mine = find_field(own, field);
    if (mine != nullptr && *mine == value) continue;
    add(field, value.as_string() != nullptr ? *value.as_string() : value.dump());
  }
  for (const auto& [field, value] : own) {
    if (find_field(theirs, field) == nullptr) add(field, "absent");
  }
  return text;
}

double total_nats(const Hypothesis& hypothesis, const std::optional<ProbeScale>& probe) {
  if (!probe) return hypothesis.nats;
  const double loss = hypothesis.probe_loss.value_or(probe->uniform_loss);
  return hypothesis.nats - loss * probe->predicted_tokens;
}

void rank(std::vector<Reading>& readings, const std::optional<ProbeScale>& probe) {
  std::stable_sort(readings.begin(), readings.end(), [&](const Reading& a, const Reading& b) {
    return total_nats(a.hypothesis, probe) > total_nats(b.hypothesis, probe);
  });
}

void level_orders(std::vector<Reading>& readings) {
  if (readings.empty()) return;
  const packing::PackingSpec& best = readings.front().hypothesis.spec;
  const auto along = [&best](const Reading& reading) {
    const packing::PackingSpec& spec = reading.hypothesis.spec;
    return spec.orient == best.orient && spec.law.axis == best.law.axis &&
           spec.law.unit == best.law.unit && spec.scale.index == best.scale.index;
  };
  const double most = readings.front().hypothesis.nats_of("alignment");
  for (Reading& reading : readings) {
    if (along(reading))
      reading.hypothesis.add("alignment", most - reading.hypothesis.nats_of("alignment"));
  }
  rank(readings, std::nullopt);
}

bool FieldLead::settled() const { return rival == nullptr || lead >= kDecisive; }

std::vector<FieldLead> field_leads(const std::vector<Reading>& readings,
                                   const std::optional<ProbeScale>& probe) {
  std::vector<FieldLead> leads;
  if (readings.empty()) return leads;
  const Hypothesis& best = readings.front().hypothesis;
  std::vector<std::vector<std::pair<std::string, Json>>> rivals;
  for (size_t i = 1; i < readings.size(); ++i) {
    rivals.push_back(spec_fields(readings[i].hypothesis.spec));
  }
  for (auto& [field, value] : spec_fields(best.spec)) {
    FieldLead lead;
    lead.field = field;
    lead.value = value;
    for (size_t i = 0; i < rivals.size(); ++i) {
      const Json* other = find_field(rivals[i], field);
      if (other != nullptr && *other == value) continue;
      lead.rival = &readings[i + 1];
      lead.rival_value = other != nullptr ? *other : Json();
      lead.lead = total_nats(best, probe) - total_nats(lead.rival->hypothesis, probe) -
                  idle_lead(best, lead.rival->hypothesis);
      lead.decisive_test = decisive_test(best, lead.rival->hypothesis, probe);
      break;
    }
    leads.push_back(std::move(lead));
  }
  return leads;
}

std::vector<const Reading*> open_rivals(const std::vector<Reading>& readings,
                                        const std::optional<ProbeScale>& probe) {
  std::vector<const Reading*> open;
  for (size_t i = 1; i < readings.size(); ++i) {
    const double lead = total_nats(readings.front().hypothesis, probe) -
                        total_nats(readings[i].hypothesis, probe) -
                        idle_lead(readings.front().hypothesis, readings[i].hypothesis);
    if (lead < kDecisive) open.push_back(&readings[i]);
  }
  return open;
}

Status keep_assumed(std::vector<Reading>& readings, const std::string& field,
                    const std::string& value) {
  const auto parsed = Json::parse(value);
  const Json wanted = parsed.ok() ? *parsed : Json(value);
  std::vector<Reading> kept;
  std::set<std::string> seen;
  for (const Reading& reading : readings) {
    const auto fields = spec_fields(reading.hypothesis.spec);
    const Json* own = find_field(fields, field);
    if (own == nullptr) continue;
    seen.insert(own->dump());
    if (*own == wanted) kept.push_back(reading);
  }
  if (kept.empty()) {
    std::string choices;
    for (const std::string& text : seen) choices += (choices.empty() ? "" : ", ") + text;
    return Error::usage("no reading of the bytes has " + field + " = " + value)
        .with_expected(choices.empty() ? "a field of the spec, like law.slot_order" : choices)
        .with_hint("see the alternatives in the sheet for fields and values");
  }
  readings = std::move(kept);
  return {};
}

}  // namespace trilith::inspect
