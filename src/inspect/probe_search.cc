#include "inspect/probe_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/numbers.h"

namespace trilith::inspect {
namespace {

using model::Role;

// A reading is found when its loss is below this share of the loss of knowing nothing.
constexpr double kPredictable = 0.75;
constexpr int kMostProbes = 48;

class Prober {
 public:
  Prober(std::vector<FamilySearch>& families, const std::vector<Identities>& identities,
         const LossFunction& loss, const ProbeScale& scale)
      : families_(families), identities_(identities), loss_(loss), scale_(scale) {}

  ProbeOutcome run() {
    chosen_.assign(families_.size(), 0);
    outcome_.ids = identities_.front().ids;
    for (size_t i = 0; i < identities_.size() && !outcome_.predicted; ++i) {
      outcome_.identities = i;
      outcome_.ids = identities_[i].ids;
      find_reading();
    }
    if (!outcome_.predicted) {
      outcome_.identities = 0;
      outcome_.ids = identities_.front().ids;
    } else {
      for (size_t family = 0; family < families_.size(); ++family) probe_neighbours(family);
      if (!identities_[outcome_.identities].by_name) probe_roles();
    }
    for (size_t family = 0; family < families_.size(); ++family) {
      rank(families_[family].readings, scale_);
    }
    return std::move(outcome_);
  }

 private:
  // The likeliest readings of each family in turn, the others at their best so far. What statistics
  // put far behind is tried only when nothing before it predicts.
  void find_reading() {
    for (const bool far : {false, true}) {
      for (size_t family = 0; family < families_.size(); ++family) {
        const std::vector<Reading>& readings = families_[family].readings;
        for (size_t i = 0; i < readings.size() && !outcome_.predicted; ++i) {
          const double behind = readings.front().hypothesis.nats - readings[i].hypothesis.nats;
          if ((behind >= kDecisive) == far) evaluate(family, i);
        }
      }
    }
  }

  void evaluate(size_t family, size_t index) {
    if (probes_ >= kMostProbes) return;
    std::vector<const Reading*> selected;
    for (size_t f = 0; f < families_.size(); ++f) {
      selected.push_back(&families_[f].readings[f == family ? index : chosen_[f]]);
    }
    ++probes_;
    const Result<double> loss = loss_(selected, outcome_.ids);
    if (!loss.ok()) {
      outcome_.error = loss.error().to_string();
      return;
    }
    Hypothesis& hypothesis = families_[family].readings[index].hypothesis;
    const Hypothesis& best = families_[family].readings[chosen_[family]].hypothesis;
    const bool better = !best.probe_loss || *loss < *best.probe_loss;
    hypothesis.probe_loss = std::min(*loss, hypothesis.probe_loss.value_or(*loss));
    if (better) {
      chosen_[family] = index;
      for (size_t f = 0; f < families_.size(); ++f) {  // the loss belongs to all that were read so
        families_[f].readings[chosen_[f]].hypothesis.probe_loss = *loss;
      }
    }
    if (*loss < kPredictable * scale_.uniform_loss) outcome_.predicted = true;
  }

  // What the statistics leave open in the same arrangement, and the best reading in another one.
  void probe_neighbours(size_t family) {
    std::vector<Reading>& readings = families_[family].readings;
    size_t centre = readings.size();
    while (centre != chosen_[family]) {
      centre = chosen_[family];
      bool other_arrangement = false;
      for (size_t i = 0; i < readings.size(); ++i) {
        if (i == centre || readings[i].hypothesis.probe_loss) continue;
        const bool same = readings[i].arrangement == readings[centre].arrangement;
        const double behind = readings[centre].hypothesis.nats - readings[i].hypothesis.nats;
        if (same ? behind < kDecisive : !std::exchange(other_arrangement, true)) {
          evaluate(family, i);
        }
      }
    }
    const Hypothesis& best = readings[chosen_[family]].hypothesis;
    outcome_.lines.push_back({"as chosen", best.probe_loss.value_or(0)});
    for (size_t i = 0; i < readings.size(); ++i) {
      if (i == chosen_[family] || !readings[i].hypothesis.probe_loss) continue;
      outcome_.lines.push_back(
          {difference(best.spec, readings[i].hypothesis.spec), *readings[i].hypothesis.probe_loss});
    }
  }

  // Roles taken from order alone: exchanges those of equal shape where the text clearly prefers it.
  // Norms with gains near one are told apart by name order only.
  void probe_roles() {
    std::vector<const Reading*> selected;
    for (size_t f = 0; f < families_.size(); ++f) {
      selected.push_back(&families_[f].readings[chosen_[f]]);
    }
    double best = selected.front()->hypothesis.probe_loss.value_or(scale_.uniform_loss);
    for (const auto& [first, second] :
         {std::pair{Role::kKProj, Role::kVProj}, std::pair{Role::kGateProj, Role::kUpProj},
          std::pair{Role::kQProj, Role::kOProj}, std::pair{Role::kInputNorm, Role::kPostNorm}}) {
      IdsByName exchanged = outcome_.ids;
      for (auto& [name, id] : exchanged) {
        if (id.role == first) {
          id.role = second;
        } else if (id.role == second) {
          id.role = first;
        }
      }
      const Result<double> loss = loss_(selected, exchanged);
      if (!loss.ok()) continue;  // the shapes differ: no such exchange
      outcome_.lines.push_back(
          {fmt::format("{} and {} exchanged", model::role_name(first), model::role_name(second)),
           *loss});
      const double gain = (best - *loss) * scale_.predicted_tokens;  // nats over the text
      if (gain >= kDecisive) {
        best = *loss;
        outcome_.ids = std::move(exchanged);
      } else if (gain > -kDecisive) {
        outcome_.undecided_roles.insert({first, second});
      }
    }
  }

  std::vector<FamilySearch>& families_;
  const std::vector<Identities>& identities_;
  const LossFunction& loss_;
  const ProbeScale& scale_;
  std::vector<size_t> chosen_;  // of each family's readings
  int probes_ = 0;
  ProbeOutcome outcome_;
};

}  // namespace

ProbeOutcome probe_families(std::vector<FamilySearch>& families,
                            const std::vector<Identities>& identities, const LossFunction& loss,
                            const ProbeScale& scale) {
  return Prober(families, identities, loss, scale).run();
}

}  // namespace trilith::inspect
