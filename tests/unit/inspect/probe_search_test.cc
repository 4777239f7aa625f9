#include "inspect/probe_search.h"

#include <gtest/gtest.h>

namespace trilith::inspect {
namespace {

using packing::CodeTable;
using packing::SlotOrder;

// Readings as the statistics leave them: two orders and two signs, all alike.
std::vector<FamilySearch> one_family() {
  FamilySearch family;
  for (const SlotOrder order : {SlotOrder::kLowFirst, SlotOrder::kHighFirst}) {
    for (const double sign : {1.0, -1.0}) {
      Reading reading;
      reading.arrangement = order == SlotOrder::kLowFirst ? 0 : 1;
      reading.hypothesis.spec.law.slots = 4;
      reading.hypothesis.spec.law.slot_order = order;
      reading.hypothesis.spec.code_table = CodeTable::list({0.0, sign, -sign, std::nullopt});
      family.readings.push_back(std::move(reading));
    }
  }
  return {std::move(family)};
}

bool is_true_reading(const Reading& reading) {
  return reading.hypothesis.spec.law.slot_order == SlotOrder::kHighFirst &&
         reading.hypothesis.spec.code_table == CodeTable::list({0.0, -1.0, 1.0, std::nullopt});
}

const ProbeScale kScale{31, 7.6};

TEST(ProbeSearch, FindsTheReadingThatPredicts) {
  std::vector<FamilySearch> families = one_family();
  int probes = 0;
  const auto loss = [&](const std::vector<const Reading*>& readings,
                        const IdsByName&) -> Result<double> {
    ++probes;
    return is_true_reading(*readings.front()) ? 1.5 : 8.0;
  };
  std::vector<Identities> identities(1);
  identities[0].by_name = true;
  const ProbeOutcome outcome = probe_families(families, identities, loss, kScale);
  EXPECT_TRUE(outcome.predicted);
  EXPECT_TRUE(is_true_reading(families[0].readings[0]));
  EXPECT_TRUE(open_rivals(families[0].readings, kScale).empty());
  EXPECT_EQ(outcome.lines.front().loss, 1.5);
  EXPECT_LE(probes, 4);
}

TEST(ProbeSearch, NoReadingPredicts) {
  std::vector<FamilySearch> families = one_family();
  const auto loss = [](const std::vector<const Reading*>&, const IdsByName&) -> Result<double> {
    return 7.7;
  };
  const ProbeOutcome outcome = probe_families(families, {Identities{}}, loss, kScale);
  EXPECT_FALSE(outcome.predicted);
  EXPECT_TRUE(outcome.error.empty());
}

TEST(ProbeSearch, AFailingProbeIsReported) {
  std::vector<FamilySearch> families = one_family();
  const auto loss = [](const std::vector<const Reading*>&, const IdsByName&) -> Result<double> {
    return Error::damaged("no embedding");
  };
  const ProbeOutcome outcome = probe_families(families, {Identities{}}, loss, kScale);
  EXPECT_FALSE(outcome.predicted);
  EXPECT_NE(outcome.error.find("no embedding"), std::string::npos);
}

TEST(ProbeSearch, RolesTakenFromOrderAreExchangedWhenTheTextPrefersIt) {
  std::vector<FamilySearch> families = one_family();
  Identities identities;
  identities.ids = {{"a", {model::Role::kGateProj, 0}}, {"b", {model::Role::kUpProj, 0}}};
  const auto loss = [](const std::vector<const Reading*>& readings,
                       const IdsByName& ids) -> Result<double> {
    if (!is_true_reading(*readings.front())) return 8.0;
    return ids.at("a").role == model::Role::kUpProj ? 1.5 : 4.0;
  };
  const ProbeOutcome outcome = probe_families(families, {identities}, loss, kScale);
  EXPECT_TRUE(outcome.predicted);
  EXPECT_EQ(outcome.ids.at("a").role, model::Role::kUpProj);
}

// Norms with gains near one: the exchanged model is as good, or better by chance.
TEST(ProbeSearch, RolesAreNotExchangedForATrifle) {
  std::vector<FamilySearch> families = one_family();
  Identities identities;
  identities.ids = {{"a", {model::Role::kInputNorm, 0}}, {"b", {model::Role::kPostNorm, 0}}};
  const auto loss = [](const std::vector<const Reading*>& readings,
                       const IdsByName& ids) -> Result<double> {
    if (!is_true_reading(*readings.front())) return 8.0;
    return ids.at("a").role == model::Role::kPostNorm ? 1.45 : 1.5;
  };
  const ProbeOutcome outcome = probe_families(families, {identities}, loss, kScale);
  EXPECT_EQ(outcome.ids.at("a").role, model::Role::kInputNorm);
  EXPECT_TRUE(outcome.undecided_roles.contains(model::Role::kInputNorm));
}

}  // namespace
}  // namespace trilith::inspect
