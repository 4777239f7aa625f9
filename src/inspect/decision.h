// The decision: which reading of a family stands, by how much each field of it is settled, and
// which readings remain. Works on finished Readings; knows nothing of how the figures came about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/family_search.h"
#include "inspect/hypothesis.h"

namespace trilith::inspect {

struct ProbeScale {
  double predicted_tokens = 0;
  double uniform_loss = 0;  // ln(vocabulary)
};

// Nats of a reading: its tests, and its probe loss over all predicted tokens. A reading that was
// not probed while others were counts as one that knows nothing (the probe runs over the likeliest
// first, and stops once a reading is found under which the text is well predicted).
double total_nats(const Hypothesis& hypothesis, const std::optional<ProbeScale>& probe);

// Where no order along the packed axis stands out, what alignment gives one order over another is
// luck: readings along the axis of the best one get as much as it has, and convention orders them.
void level_orders(std::vector<Reading>& readings);

// Orders readings by total_nats, best first; equal ones keep their order.
void rank(std::vector<Reading>& readings, const std::optional<ProbeScale>& probe);

// For one field of the best reading: the best rival that differs there.
struct FieldLead {
  std::string field;
  Json value;
  Json rival_value;  // null without a rival
  const Reading* rival = nullptr;
  double lead = 0;            // nats
  std::string decisive_test;  // the test that contributes most to the lead
  bool settled() const;
};
// Fields of the spec ("law.slot_order", …) that any reading disagrees about or that are worth a
// line; `readings` ranked.
std::vector<FieldLead> field_leads(const std::vector<Reading>& readings,
                                   const std::optional<ProbeScale>& probe);

// Readings that the evidence leaves standing beside the best one.
std::vector<const Reading*> open_rivals(const std::vector<Reading>& readings,
                                        const std::optional<ProbeScale>& probe);

// Keeps the readings whose spec has `value` at the dotted `field`; an error lists what there is.
Status keep_assumed(std::vector<Reading>& readings, const std::string& field,
                    const std::string& value);

// What `other` says differently: "law.slot_order = high_first, scale.op = div".
std::string difference(const packing::PackingSpec& spec, const packing::PackingSpec& other);

// The leaves of a spec's JSON by dotted path; lists count as leaves.
std::vector<std::pair<std::string, Json>> spec_fields(const packing::PackingSpec& spec);

}  // namespace trilith::inspect
