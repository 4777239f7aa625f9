#include "inspect/family_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_counts.h"
#include "base/fingerprint.h"
#include "inspect/code_tables.h"
#include "inspect/decision.h"
#include "inspect/law_space.h"
#include "inspect/module_sample.h"
#include "inspect/numbers.h"
#include "inspect/overdispersion.h"
#include "inspect/padding.h"
#include "inspect/reading_evidence.h"
#include "inspect/scale_direction.h"
#include "inspect/workers.h"

namespace trilith::inspect {
namespace {

using packing::PackingSpec;
using packing::Scale;

// The p-value of an alignment can be as small as one in a thousand; a sample of the pairs that the
// order touches is enough to measure it.
constexpr int kPermutations = 999;
constexpr size_t kPermutedPairs = 64;
// What being a table that packers are known to write is worth: enough to order two readings that
// nothing else tells apart, far from enough to decide.
constexpr double kUsualTable = 0.1;
// Weights that every arrangement is weighed by; further modules are taken to be like these, until
// they are decoded under the reading that is chosen.
constexpr int64_t kMostWeighed = int64_t{1} << 24;

using Codes = std::vector<std::vector<uint8_t>>;  // of each module, [rows, cols]

void add_codes(Fingerprint& fingerprint, const std::vector<uint8_t>& codes) {
  size_t i = 0;
  for (; i + 8 <= codes.size(); i += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, codes.data() + i, 8);
    fingerprint.add(eight);
  }
  for (; i < codes.size(); ++i) fingerprint.add(static_cast<uint64_t>(codes[i]));
}

Result<Codes> decode_all(const Arrangement& arrangement) {
  std::vector<Result<packing::QuantMatrix>> decoded(
      arrangement.modules.size(), Result<packing::QuantMatrix>(packing::QuantMatrix{}));
  for_each(decoded.size(), 0, [&](size_t m) {
    const PackedModule& module = arrangement.modules[m];
    decoded[m] = decode_codes(arrangement.geometry.spec, module, module.rows, module.cols);
  });
  Codes all;
  for (size_t m = 0; m < decoded.size(); ++m) {
    if (!decoded[m].ok()) {
      return std::move(decoded[m]).error().with_tensor(arrangement.modules[m].name);
    }
    all.push_back(std::move(decoded[m]->codes));
  }
  return all;
}

ByteHistogram count(const Codes& all) {
  ByteHistogram histogram{};
  for (const auto& codes : all) add_byte_counts(codes, histogram);
  return histogram;
}

std::vector<std::array<uint32_t, 3>> count_rows(const Codes& all, const Arrangement& arrangement,
                                                const std::vector<int>& codes) {
  std::vector<std::array<uint32_t, 3>> rows;
  for (size_t m = 0; m < all.size(); ++m) {
    const auto width = static_cast<size_t>(arrangement.modules[m].cols);
    for (size_t begin = 0; begin < all[m].size(); begin += width) {
      ByteCounts counts{};
      add_byte_counts(std::span(all[m]).subspan(begin, width), counts);
      std::array<uint32_t, 3> own{};
      for (size_t i = 0; i < 3; ++i) {
        own[i] = static_cast<uint32_t>(counts[static_cast<size_t>(codes[i])]);
      }
      rows.push_back(own);
    }
  }
  return rows;
}

std::vector<double> row_scales(const PackedModule& module, const Scale& scale, bool divide) {
  const auto stored = module.stored.find("scale");
  if (stored == module.stored.end() || scale.index != Scale::Index::kRow) return {};
  std::vector<double> result;
  for (const float value : to_floats(*stored->second)) {
    result.push_back(divide ? 1.0 / value : value);
  }
  return result;
}

// What one cell (a way to hold codes in a byte) says about the alphabet; shared by arrangements.
struct CellFinding {
  Cell cell;
  bool planes = false;
  TernaryVerdict ternary;
  BellVerdict bell;
  ByteHistogram counts{};
  double entropy = 0;
  std::string error;
  bool usable() const { return error.empty() && (ternary.ternary || bell.bell); }
};

class Search {
 public:
  Search(const std::vector<const CodeGroup*>& groups, const SearchContext& context)
      : groups_(groups), context_(context) {}

  FamilySearch run() {
    ArrangementSearch arranged =
        arrange(groups_, context_.sizes, context_.ids, context_.lone_tensors);
    if (arranged.found.empty()) {
      result_.module = arranged.module;
      result_.refusal = arranged.reason;
      return std::move(result_);
    }
    for (const CodeGroup* group : groups_) {
      for (const Part* part : group->codes) {
        if (part->summary->distinct > 1) continue;
        result_.module = group->name;
        result_.refusal =
            fmt::format("every element of '{}' is {}", part->tensor->name, part->summary->min);
        return std::move(result_);
      }
    }
    sample_ = sample_modules(arranged.found.front().modules, kMostWeighed);
    result_.weighed = sample_.size();
    for (Arrangement& arrangement : arranged.found) weigh(std::move(arrangement));
    if (result_.readings.empty()) {
      refuse();
    } else {
      std::stable_sort(
          result_.readings.begin(), result_.readings.end(),
          [](const Reading& a, const Reading& b) { return a.hypothesis.nats > b.hypothesis.nats; });
      const size_t best = result_.readings.front().arrangement;
      result_.alignments[best].p_value = measure_alignment(tested_[best], kPermutations).p_value;
      if (result_.alignments[best].p_value > kUnconfirmed) level_orders(result_.readings);
    }
    return std::move(result_);
  }

 private:
  void weigh(Arrangement arrangement) {
    Arrangement sample{arrangement.geometry, arrangement.scale, {}, "", false};
    for (const size_t m : sample_) sample.modules.push_back(arrangement.modules[m]);
    auto decoded = decode_all(sample);
    if (!decoded.ok()) {
      decode_error_ = decoded.error().to_string();
      return;
    }
    const CellFinding& finding = judge_cell(arrangement.geometry, *decoded);
    if (!finding.usable() || !is_new(sample, *decoded)) return;
    result_.arrangements.push_back(std::move(arrangement));
    if (finding.cell == Cell::kFloats) {
      weigh_floats(sample, *decoded);
    } else if (finding.ternary.ternary) {
      weigh_ternary(sample, finding, *decoded);
    } else {
      weigh_integers(sample, finding, *decoded);
    }
  }

  // Two arrangements may give the same matrices (stride 32 and quarters of 128 columns).
  bool is_new(const Arrangement& arrangement, const Codes& decoded) {
    std::vector<Fingerprint> own(decoded.size());
    for_each(own.size(), 0, [&](size_t m) {
      own[m].add(static_cast<uint64_t>(arrangement.modules[m].rows));
      add_codes(own[m], decoded[m]);
    });
    Fingerprint all;
    for (const Fingerprint& fingerprint : own) all.add(fingerprint.ordered);
    if (std::find(seen_.begin(), seen_.end(), all) != seen_.end()) return false;
    seen_.push_back(all);
    return true;
  }

  const CellFinding& judge_cell(const Geometry& geometry, const Codes& decoded) {
    const bool planes = geometry.code_tensors > 1;
    for (const CellFinding& known : cells_) {
      if (known.cell == geometry.cell && known.planes == planes && known.cell != Cell::kInline) {
        return known;
      }
    }
    CellFinding finding;
    finding.cell = geometry.cell;
    finding.planes = planes;
    finding.counts = count(decoded);
    finding.entropy = byte_entropy(finding.counts);
    Alphabet alphabet = count_codes(finding.counts, Cell::kWholeByte);
    finding.ternary = judge_ternary(alphabet);
    if (geometry.cell == Cell::kWholeByte) finding.bell = judge_bell(finding.counts);
    cells_.push_back(std::move(finding));
    return cells_.back();
  }

  void weigh_ternary(const Arrangement& arrangement, const CellFinding& finding,
                     const Codes& decoded) {
    const std::vector<int>& codes = finding.ternary.codes;
    std::array<uint64_t, 3> counts{};
    for (size_t i = 0; i < 3; ++i) counts[i] = finding.counts[static_cast<size_t>(codes[i])];
    const ZeroCodeFinding zero = find_zero_code(counts, count_rows(decoded, arrangement, codes));
    if (result_.code_counts.empty()) {
      result_.code_counts.assign(finding.counts.begin(), finding.counts.begin() + 4);
      result_.codes = codes;
      result_.zero = zero;
    }
    const int best_zero = codes[static_cast<size_t>(zero.zero)];
    std::vector<double> level_squared(256, 1.0);
    level_squared[static_cast<size_t>(best_zero)] = 0;
    Measured measured = measure(arrangement, decoded, level_squared);
    result_.alignments.push_back(measured.alignment);
    tested_.push_back(std::move(measured.tested));
    for (size_t i = 0; i < 3; ++i) {
      const std::vector<TableChoice> tables = ternary_tables(arrangement.geometry, codes, codes[i]);
      for (const TableChoice& table : tables) {
        Hypothesis hypothesis;
        hypothesis.spec = table.spec;
        hypothesis.add("zero code", zero.nats[i]);
        if (table.usual) hypothesis.add("usual table", kUsualTable);
        finish(measured, hypothesis);
      }
    }
  }

  // The values are numbers already: nothing is open but the place of the scale.
  void weigh_floats(const Arrangement& arrangement, const Codes& decoded) {
    std::vector<double> level_squared(256);
    level_squared[0] = level_squared[2] = 1;
    Measured measured = measure(arrangement, decoded, level_squared);
    result_.alignments.push_back(measured.alignment);
    tested_.push_back(std::move(measured.tested));
    Hypothesis hypothesis;
    hypothesis.spec = arrangement.geometry.spec;
    finish(measured, hypothesis);
  }

  void weigh_integers(const Arrangement& arrangement, const CellFinding& finding,
                      const Codes& decoded) {
    if (result_.code_counts.empty()) {
      result_.code_counts.assign(finding.counts.begin(), finding.counts.end());
    }
    std::vector<double> level_squared(256);
    for (int byte = 0; byte < 256; ++byte) {
      const double level =
          finding.bell.centre == 0 ? static_cast<int8_t>(byte) : byte - finding.bell.centre;
      level_squared[static_cast<size_t>(byte)] = level * level;
    }
    Measured measured = measure(arrangement, decoded, level_squared);
    result_.alignments.push_back(measured.alignment);
    tested_.push_back(std::move(measured.tested));
    Hypothesis hypothesis;
    hypothesis.spec = byte_integers(arrangement.geometry, finding.bell.centre);
    finish(measured, hypothesis);
  }

  struct Measured {
    Alignment alignment;
    std::vector<ProfilePair> tested;  // a sample, for the permutation test
    double dispersion_nats = 0;
    double padding_nats = 0;
    ScaleDirection direction;
  };

  Measured measure(const Arrangement& arrangement, const Codes& decoded,
                   const std::vector<double>& level_squared) const {
    Measured measured;
    measured.direction = typical_direction(arrangement, decoded, level_squared);
    measured.padding_nats = padding_nats(arrangement.geometry, arrangement.modules.front());
    const bool divide = measured.direction.nats_divide > measured.direction.nats_multiply;
    std::vector<ProfiledModule> modules(decoded.size());
    std::vector<double> dispersions(decoded.size());
    for_each(decoded.size(), 0, [&](size_t m) {
      const PackedModule& module = arrangement.modules[m];
      ProfiledModule& profiled = modules[m];
      profiled.id = module.id;
      profiled.rows = module.rows;
      profiled.cols = module.cols;
      if (arrangement.scale) profiled.row_scale = row_scales(module, *arrangement.scale, divide);
      profiled.profiles =
          profile(decoded[m], module.rows, module.cols, level_squared, profiled.row_scale);
      dispersions[m] = dispersion(module, decoded[m], level_squared);
    });
    for (const double nats : dispersions) measured.dispersion_nats += nats;
    const auto pairs =
        pair_profiles(modules, context_.plain, context_.heads, arrangement.geometry.spec.law.axis);
    measured.alignment = measure_alignment(pairs, 0);
    for (const ProfilePair& pair : pairs) {
      if (pair.tested) measured.tested.push_back(pair);
    }
    const size_t step = measured.tested.size() / kPermutedPairs + 1;
    for (size_t i = 0; i * step < measured.tested.size(); ++i) {
      if (i > 0) measured.tested[i] = std::move(measured.tested[i * step]);
    }
    measured.tested.resize((measured.tested.size() + step - 1) / step);
    for (ProfilePair& pair : measured.tested) pair.repeats = pair.repeats && step == 1;
    return measured;
  }

  // Over the codes in turn, so that it does not depend on which of them is taken for zero (where
  // each row is scaled by its own mean, the zero share alone hardly varies); for integers over
  // magnitudes.
  double dispersion(const PackedModule& module, const std::vector<uint8_t>& codes,
                    const std::vector<double>& level_squared) const {
    double nats = 0;
    std::vector<uint8_t> marked(codes.size());
    if (result_.codes.empty()) {
      for (size_t i = 0; i < codes.size(); ++i) marked[i] = level_squared[codes[i]] >= 32 * 32;
      return measure_dispersion(marked, module.rows, module.cols).nats;
    }
    for (const int code : result_.codes) {
      for (size_t i = 0; i < codes.size(); ++i) marked[i] = codes[i] == code;
      nats += measure_dispersion(marked, module.rows, module.cols).nats;
    }
    return nats / static_cast<double>(result_.codes.size());
  }

  // Of the median module: a family's scales share one direction, so it counts once.
  static ScaleDirection typical_direction(const Arrangement& arrangement, const Codes& decoded,
                                          const std::vector<double>& level_squared) {
    std::vector<ScaleDirection> directions;
    for (size_t m = 0; m < decoded.size(); ++m) {
      const PackedModule& module = arrangement.modules[m];
      const auto stored = module.stored.find("scale");
      if (stored == module.stored.end()) continue;
      ByteCounts counts{};
      add_byte_counts(decoded[m], counts);
      double sum = 0;
      for (size_t code = 0; code < level_squared.size(); ++code) {
        if (counts[code] > 0) sum += static_cast<double>(counts[code]) * level_squared[code];
      }
      directions.push_back(judge_direction(to_floats(*stored->second),
                                           sum / static_cast<double>(decoded[m].size()),
                                           static_cast<double>(module.cols)));
    }
    if (directions.empty()) return {};
    const auto middle = directions.begin() + static_cast<std::ptrdiff_t>(directions.size() / 2);
    std::nth_element(directions.begin(), middle, directions.end(),
                     [](const ScaleDirection& a, const ScaleDirection& b) {
                       return a.gain_multiply < b.gain_multiply;
                     });
    return *middle;
  }

  // Adds what all tables of an arrangement share, once for each direction of the scale.
  // The arrangement is the last one of the result.
  void finish(const Measured& measured, Hypothesis hypothesis) {
    const size_t index = result_.arrangements.size() - 1;
    hypothesis.add("alignment", measured.alignment.nats);
    hypothesis.add("overdispersion", measured.dispersion_nats);
    hypothesis.add("padding", measured.padding_nats);
    hypothesis.add("order convention", order_convention(hypothesis.spec));
    const std::optional<Scale>& scale = result_.arrangements[index].scale;
    if (!scale) {
      result_.readings.push_back({hypothesis, index});
      return;
    }
    const ScaleDirection& direction = measured.direction;
    const auto add = [&](Scale::Op op, double factor, double nats) {
      Reading reading{hypothesis, index};
      reading.hypothesis.spec.scale = *scale;
      reading.hypothesis.spec.scale.op = op;
      reading.hypothesis.spec.scale.factor = factor;
      reading.hypothesis.add("scale direction", nats);
      result_.readings.push_back(std::move(reading));
    };
    add(Scale::Op::kMultiply, 1, direction.nats_multiply);
    add(Scale::Op::kDivide, 1, direction.nats_divide);
    if (direction.nats_power > direction.nats_multiply) {
      add(Scale::Op::kMultiplyPowerOfTwo, 1, direction.nats_power);
    }
    if (hypothesis.spec.bits == 8) {  // the largest magnitude of a row in place of its step
      add(Scale::Op::kMultiply, kAbsmax, gain_nats(direction.gain_multiply * kAbsmax));
    }
  }

  // No reading: says what the codes look like instead.
  void refuse() {
    result_.module = groups_.front()->name;
    if (cells_.empty()) {
      result_.refusal = decode_error_;
      return;
    }
    result_.refusal = "the codes fit no alphabet known here: ";
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (i > 0) result_.refusal += "; ";
      result_.refusal += fmt::format("as {}: {} (entropy {:.2f} bit)", cell_name(cells_[i].cell),
                                     cells_[i].ternary.reason, cells_[i].entropy);
    }
  }

  const std::vector<const CodeGroup*>& groups_;
  const SearchContext& context_;
  FamilySearch result_;
  std::vector<size_t> sample_;  // modules whose codes are weighed
  std::vector<CellFinding> cells_;
  std::vector<Fingerprint> seen_;
  std::vector<std::vector<ProfilePair>> tested_;  // parallel to result_.arrangements
  std::string decode_error_;
};

}  // namespace

FamilySearch search_family(const std::vector<const CodeGroup*>& groups,
                           const SearchContext& context) {
  return Search(groups, context).run();
}

}  // namespace trilith::inspect
