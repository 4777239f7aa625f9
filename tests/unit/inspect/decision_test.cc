#include "inspect/decision.h"

#include <gtest/gtest.h>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

using packing::CodeTable;
using packing::PackingSpec;
using packing::SlotOrder;

Reading reading(SlotOrder order, double sign, double nats) {
  Reading result;
  result.hypothesis.spec.law.slots = 4;
  result.hypothesis.spec.law.slot_order = order;
  result.hypothesis.spec.code_table = CodeTable::list({0.0, sign, -sign, std::nullopt});
  result.hypothesis.add("alignment", nats);
  return result;
}

std::vector<Reading> four_readings() {
  return {reading(SlotOrder::kHighFirst, 1, 5), reading(SlotOrder::kLowFirst, 1, 105),
          reading(SlotOrder::kLowFirst, -1, 105), reading(SlotOrder::kHighFirst, -1, 5)};
}

const FieldLead& lead_of(const std::vector<FieldLead>& leads, const std::string& field) {
  for (const FieldLead& lead : leads) {
    if (lead.field == field) return lead;
  }
  ADD_FAILURE() << "no field " << field;
  return leads.front();
}

TEST(Decision, StatisticsSettleTheOrderAndNotTheSign) {
  std::vector<Reading> readings = four_readings();
  rank(readings, std::nullopt);
  const auto leads = field_leads(readings, std::nullopt);
  const FieldLead& order = lead_of(leads, "law.slot_order");
  EXPECT_EQ(order.value, Json("low_first"));
  EXPECT_EQ(order.rival_value, Json("high_first"));
  EXPECT_DOUBLE_EQ(order.lead, 100);
  EXPECT_EQ(order.decisive_test, "alignment");
  EXPECT_TRUE(order.settled());
  EXPECT_FALSE(lead_of(leads, "code_table").settled());
  EXPECT_EQ(lead_of(leads, "law.slots").rival, nullptr);
  ASSERT_EQ(open_rivals(readings, std::nullopt).size(), 1U);
  EXPECT_EQ(difference(readings[0].hypothesis.spec,
                       open_rivals(readings, std::nullopt)[0]->hypothesis.spec),
            "code_table = [0,-1,1,null]");
}

TEST(Decision, TheProbeSettlesTheSign) {
  std::vector<Reading> readings = four_readings();
  readings[1].hypothesis.probe_loss = 8.0;
  readings[2].hypothesis.probe_loss = 1.5;
  const ProbeScale scale{31, 7.6};
  rank(readings, scale);
  EXPECT_EQ(readings[0].hypothesis.spec.code_table,
            CodeTable::list({0.0, -1.0, 1.0, std::nullopt}));
  EXPECT_TRUE(open_rivals(readings, scale).empty());
  const auto leads = field_leads(readings, scale);
  EXPECT_EQ(lead_of(leads, "code_table").decisive_test, "probe");
  EXPECT_DOUBLE_EQ(lead_of(leads, "code_table").lead, 6.5 * 31);
}

TEST(Decision, AReadingThatWasNotProbedKnowsNothing) {
  Hypothesis hypothesis;
  hypothesis.add("alignment", 3);
  EXPECT_DOUBLE_EQ(total_nats(hypothesis, ProbeScale{10, 7}), 3 - 70);
}

TEST(Decision, AssumptionsFilterAndUnknownValuesAreRefused) {
  std::vector<Reading> readings = four_readings();
  ASSERT_TRUE(keep_assumed(readings, "code_table", "[0,-1,1,null]").ok());
  EXPECT_EQ(readings.size(), 2U);
  ASSERT_TRUE(keep_assumed(readings, "law.slot_order", "high_first").ok());
  EXPECT_EQ(readings.size(), 1U);
  const Status refused = keep_assumed(readings, "law.slot_order", "low_first");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_NE(refused.error().to_string().find("high_first"), std::string::npos);
  EXPECT_EQ(readings.size(), 1U);
}

}  // namespace
}  // namespace trilith::inspect
