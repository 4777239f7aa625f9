#include "inspect/general_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/fingerprint.h"
#include "inspect/decision.h"
#include "inspect/dense_sibling.h"
#include "inspect/group_evidence.h"
#include "inspect/law_search.h"
#include "inspect/numbers.h"
#include "inspect/placement.h"
#include "inspect/reading_evidence.h"
#include "inspect/scale_direction.h"
#include "inspect/side_space.h"
#include "inspect/table_space.h"

namespace trilith::inspect {
namespace {

using packing::PackingSpec;
using packing::Scale;

// Readings of the side data that are tried under every law.
constexpr size_t kMostSides = 4;
constexpr double kSideWindow = 80;
// A module of as many weights is enough to tell the uses of side data apart.
constexpr int64_t kFewestElements = 4096;
constexpr size_t kMostReadings = 64;
constexpr double kTurned = 0.1;
// Against each matrix that the layers of the config have no place for.
constexpr double kSurplus = 400;
// Nats that a sound reading does not lose to left-over tensors or to off-centre groups.
constexpr double kDoubtful = 50;
constexpr int kPermutations = 199;

double surplus_nats(const Law& law) { return -kSurplus * static_cast<double>(law.surplus); }

class GeneralSearch {
 public:
  GeneralSearch(const StoredClass& stored, const SearchContext& context)
      : stored_(stored), context_(context), legal_(all_shapes(context.sizes)) {}

  FamilySearch run() {
    result_.module = stored_.modules.front().name;
    LawsFound found = find_laws(stored_, legal_, context_.sizes);
    laws_ = std::move(found.laws);
    refusal_ = std::move(found.refusal);
    if (laws_.empty()) {
      result_.refusal = refusal_.empty() ? "no packing of any width stores a matrix that this "
                                           "config allows in tensors of these shapes"
                                         : refusal_;
      return std::move(result_);
    }
    weigh_laws();
    if (result_.readings.empty()) {
      result_.refusal =
          refusal_.empty() ? "no tensor beside the codes can be their scale" : refusal_;
    }
    return std::move(result_);
  }

 private:
  struct Side {
    SideReading reading;
    PackingSpec spec;  // with table
    double nats = 0;
    std::map<std::string, double> by_test;
  };

  // Every use of the side data with its best tables.
  std::vector<Side> sides_of(const Law& law) const {
    std::vector<Side> sides;
    const std::vector<TableReading> tables = table_readings(law.candidate.spec, law.statistics);
    for (SideReading& reading : side_readings(stored_, law.candidate, law.placed, context_.sizes)) {
      const auto zero = reading.spec.zero.kind;
      const bool open = reading.spec.code_table.kind != packing::CodeTable::Kind::kTensor &&
                        zero == packing::Zero::Kind::kNone;
      const double convention = law.candidate.prior;
      const double sides_nats = reading.nats - convention;
      if (!open) {
        Side side{reading,
                  reading.spec,
                  reading.nats,
                  {{"order convention", convention}, {"side data", sides_nats}}};
        sides.push_back(std::move(side));
        continue;
      }
      size_t taken = 0;
      for (const TableReading& table : tables) {
        if (++taken > 3) break;
        Side side{reading, reading.spec, reading.nats + table.nats, {}};
        side.spec.code_table = table.spec.code_table;
        side.spec.symbol = table.spec.symbol;
        side.by_test = {
            {"order convention", convention}, {"side data", sides_nats}, {"levels", table.nats}};
        sides.push_back(std::move(side));
      }
    }
    return sides;
  }

  void weigh_laws() {
    // Every use of the side data under every law, on one module; the best of them in full.
    struct Candidate {
      const Law* law;
      Side side;
    };
    std::vector<Candidate> candidates;
    for (const Law& law : laws_) {
      std::vector<Side> own;
      for (Side& side : sides_of(law)) {
        if (weigh_side(law, side)) own.push_back(std::move(side));
      }
      std::stable_sort(own.begin(), own.end(),
                       [](const Side& a, const Side& b) { return a.nats > b.nats; });
      std::vector<const Side*> kept;
      for (const Side& side : own) {
        const bool known = std::any_of(kept.begin(), kept.end(), [&](const Side* other) {
          return std::abs(other->nats - side.nats) < 1e-6 &&
                 other->spec.code_table == side.spec.code_table &&
                 other->spec.zero == side.spec.zero &&
                 other->spec.scale.global == side.spec.scale.global;
        });
        if (known || kept.size() >= kMostSides) continue;
        kept.push_back(&side);
        candidates.push_back({&law, side});
      }
    }
    if (candidates.empty()) return;
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.side.nats > b.side.nats; });
    const double top = candidates.front().side.nats;
    for (const Candidate& candidate : candidates) {
      if (candidate.side.nats < top - kSideWindow) break;
      add_reading(*candidate.law, candidate.side);
    }
    rank(result_.readings, std::nullopt);
    if (result_.readings.size() > kMostReadings) result_.readings.resize(kMostReadings);
    add_turned();
    add_doubts();
  }

  // A best reading that passes over a tensor, whose groups are off centre, or whose order nothing
  // confirms.
  void add_doubts() {
    if (result_.readings.empty()) return;
    const Reading& best = result_.readings.front();
    if (best.hypothesis.nats_of("side data") < -kDoubtful) {
      result_.doubts.push_back("a tensor beside the codes has no part in this reading");
    }
    if (best.hypothesis.nats_of("centre") < -kDoubtful) {
      result_.doubts.push_back("the weights of many groups lie to one side of zero");
    }
    result_.misfit = !result_.doubts.empty();
    const Alignment tested = measure_alignment(best_pairs_[best.arrangement], kPermutations);
    result_.alignments[best.arrangement].p_value = tested.p_value;
    const bool confirmed = tested.p_value <= kUnconfirmed;
    if (!confirmed) level_orders(result_.readings);
    for (Reading& reading : result_.readings) reading.hypothesis.order_luck = tested.luck;
    const PackingSpec& spec = result_.readings.front().hypothesis.spec;
    const bool ordered = spec.law.slots > 1 && spec.law.bitstream == packing::Bitstream::kNone;
    if (ordered && !confirmed) {
      result_.doubts.push_back("no neighbouring tensor confirms the order of the codes");
    }
  }

  // What the groups say of the scale and the zero, on the first modules.
  bool weigh_side(const Law& law, Side& side) {
    const PackedModule* module = &side.reading.modules.front();
    for (const PackedModule& other : side.reading.modules) {  // the smallest of some size
      if (other.rows * other.cols < kFewestElements) continue;
      const bool smaller = other.rows * other.cols < module->rows * module->cols;
      if (module->rows * module->cols < kFewestElements || smaller) module = &other;
    }
    const auto matrix = decode_module(side.spec, *module);
    if (!matrix.ok()) {
      if (refusal_.empty()) refusal_ = matrix.error().to_string();
      return false;
    }
    const GroupEvidence own = weigh_groups(*matrix);
    side.nats += own.partition + own.centre + law.nats + surplus_nats(law);
    if (context_.sibling != nullptr) {
      const auto like = resemblance(*context_.sibling, side.reading.modules, side.spec);
      side.nats += like ? like->nats : 0;
    }
    return true;
  }

  void add_reading(const Law& law, const Side& side) {
    GroupEvidence groups;
    std::vector<ProfiledModule> profiled;
    std::vector<ProfiledModule> divided;  // the same where scales divide
    double dispersion = 0;
    std::vector<double> gains;
    std::vector<double> gains_divided;
    Fingerprint dense_print;
    int64_t elements = 0;
    for (const PackedModule& module : side.reading.modules) {
      auto matrix = decode_module(side.spec, module);
      if (!matrix.ok()) return;
      const GroupEvidence own = weigh_groups(*matrix);
      groups.partition += own.partition;
      groups.centre += own.centre;
      const std::vector<float> dense = matrix->dense();
      ProfiledModule entry;
      entry.id = module.id;
      entry.rows = module.rows;
      entry.cols = module.cols;
      double square = 0;
      entry.profiles = profile_dense(*matrix, dense, square);
      entry.col_scale = column_scales(*matrix);
      dispersion += disperse(*matrix);
      if (!(square > 0) || !std::isfinite(square)) return;
      gains.push_back(std::sqrt(square * static_cast<double>(module.cols)));
      gains_divided.push_back(inverse_gain(*matrix));
      if (may_divide(side.spec)) {
        divided.push_back(entry);
        matrix->scale.op = Scale::Op::kDivide;
        double divided_square = 0;
        divided.back().profiles = profile_dense(*matrix, matrix->dense(), divided_square);
      }
      profiled.push_back(std::move(entry));
      dense_print.add(static_cast<uint64_t>(module.rows));
      for (const float value : dense) {
        uint32_t bits = 0;
        std::memcpy(&bits, &value, 4);
        dense_print.add(static_cast<uint64_t>(bits));
      }
      elements += module.rows * module.cols;
      if (elements > kMostElements) break;
    }
    if (std::find(dense_seen_.begin(), dense_seen_.end(), dense_print) != dense_seen_.end()) return;
    dense_seen_.push_back(dense_print);
    Hypothesis hypothesis;
    hypothesis.spec = side.spec;
    hypothesis.add("description", law.nats);
    for (const auto& [test, nats] : side.by_test) hypothesis.add(test, nats);
    if (law.surplus > 0) hypothesis.add("module counts", surplus_nats(law));
    hypothesis.add("groups", groups.partition);
    hypothesis.add("centre", groups.centre);
    hypothesis.add("overdispersion", dispersion);
    const std::vector<ProfiledPlain> plain = plain_beside(side.reading.modules);
    const auto pairs = pair_profiles(profiled, plain, context_.heads, side.spec.law.axis);
    Alignment alignment = measure_alignment(pairs, 0);
    Alignment alignment_divided = alignment;
    if (!divided.empty()) {
      alignment_divided =
          measure_alignment(pair_profiles(divided, plain, context_.heads, side.spec.law.axis), 0);
    }
    best_pairs_.push_back(pairs);
    // Strengths go along with each other in either direction, which says nothing of the scales'.
    hypothesis.add("alignment", std::max(alignment.nats, alignment_divided.nats));
    const size_t index = result_.arrangements.size();
    Arrangement arrangement;
    arrangement.geometry.spec = law.candidate.spec;
    arrangement.modules = side.reading.modules;
    arrangement.scale_rule = side.reading.rule;
    arrangement.scale_assumed = side.reading.assumed;
    if (arrangement.modules.front().stored.contains("scale")) arrangement.scale = side.spec.scale;
    result_.arrangements.push_back(std::move(arrangement));
    result_.alignments.push_back(std::move(alignment));
    result_.weighed = profiled.size();
    if (result_.code_counts.empty()) {
      result_.code_counts.assign(law.statistics.counts.begin(), law.statistics.counts.begin() + 16);
    }
    const double gain = median(std::move(gains));
    const auto add = [&](const PackingSpec& spec, double nats) {
      Reading reading{hypothesis, index};
      reading.hypothesis.spec = spec;
      reading.hypothesis.add("scale direction", nats);
      result_.readings.push_back(std::move(reading));
    };
    add(side.spec, gain_nats(gain));
    if (!may_divide(side.spec)) return;
    PackingSpec inverse = side.spec;
    inverse.scale.op = Scale::Op::kDivide;
    add(inverse, gain_nats(median(std::move(gains_divided))) - kTurned);
    if (side.spec.bits == 8 && !is_float(side.spec.container)) {
      PackingSpec absmax = side.spec;  // the largest magnitude in place of the step
      absmax.scale.factor *= kAbsmax;
      add(absmax, gain_nats(gain * kAbsmax) - kTurned);
    }
  }

  // Loose tensors that serve as scales here are no neighbours.
  std::vector<ProfiledPlain> plain_beside(const std::vector<PackedModule>& modules) const {
    std::set<const TensorView*> taken;
    for (const PackedModule& module : modules) {
      for (const auto& [role, tensor] : module.stored) taken.insert(tensor);
    }
    std::vector<ProfiledPlain> plain = context_.plain;
    std::erase_if(plain, [&](const ProfiledPlain& p) { return taken.contains(p.tensor); });
    return plain;
  }

  static bool may_divide(const PackingSpec& spec) {
    const bool scaled =
        spec.scale.place == Scale::Place::kTensor && spec.scale.index != Scale::Index::kNone;
    const bool plain = spec.zero.kind == packing::Zero::Kind::kNone ||
                       spec.zero.kind == packing::Zero::Kind::kInteger;
    return scaled && plain && spec.scale.op == Scale::Op::kMultiply &&
           spec.scale.global == Scale::Global::kNone;
  }

  void add_turned() {
    if (result_.readings.empty()) return;
    const size_t count = std::min<size_t>(result_.readings.size(), 8);
    for (size_t i = 0; i < count; ++i) {
      for (const PackingSpec& spec : with_signs_turned(result_.readings[i].hypothesis.spec)) {
        Reading turned = result_.readings[i];
        turned.hypothesis.spec = spec;
        turned.hypothesis.add("usual table", -kTurned);
        result_.readings.push_back(std::move(turned));
      }
    }
    rank(result_.readings, std::nullopt);
  }

  const StoredClass& stored_;
  const SearchContext& context_;
  std::vector<LogicalShape> legal_;
  std::vector<Law> laws_;
  std::vector<Fingerprint> dense_seen_;
  std::vector<std::vector<ProfilePair>> best_pairs_;  // parallel to result_.arrangements
  FamilySearch result_;
  std::string refusal_;
};

}  // namespace

std::vector<FamilySearch> general_search(const StoredClass& stored, const SearchContext& context) {
  std::vector<FamilySearch> families;
  GeneralSearch whole(stored, context);
  families.push_back(whole.run());
  const auto is_sound = [](const FamilySearch& family) {
    return !family.readings.empty() && !family.misfit;
  };
  if (is_sound(families.front()) || stored.lone || stored.modules.size() < 2) return families;
  // No sound reading of all modules: each on its own.
  std::vector<FamilySearch> alone;
  for (const ClassModule& module : stored.modules) {
    StoredClass one;
    one.modules = {module};
    alone.push_back(GeneralSearch(one, context).run());
  }
  const bool better = families.front().readings.empty()
                          ? std::all_of(alone.begin(), alone.end(),
                                        [](const FamilySearch& f) { return !f.readings.empty(); })
                          : std::all_of(alone.begin(), alone.end(), is_sound);
  return better ? std::move(alone) : std::move(families);
}

}  // namespace trilith::inspect
