// Ledger (trilith.ledger/1): the verdict of one comparison with everything it rests on, as a value,
// as JSON for machines, as text for a terminal and as an HTML page for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "reconcile/metrics.h"
#include "reconcile/step_check.h"

namespace trilith::reconcile {

enum class Verdict { kClean, kFault, kUndecided, kIncomparable };
std::string_view verdict_name(Verdict verdict);

// One step-by-step check of a point (see step_check.h).
struct LocalResult {
  Difference difference;
  double ratio = 0;  // to the floor
  IntegerCheck integers;
};

// A point over all prompts; of several prompts the worst is kept.
struct PointReport {
  std::string point;
  std::optional<Difference> free_running;  // target against baseline, both on their own
  double floor_ratio = 0;                  // of that difference, to what the precision explains
  double floor_rel = 0;                    // what it explains, as rel_l2 measures the difference
  std::optional<LocalResult> weights;      // baseline's outputs against this model's weights
  std::optional<LocalResult> target;       // target's outputs against its own inputs
};

// Which of the three comparisons a fault shows in.
enum class Evidence { kWeights, kImplementation, kFreeRunning };

struct Fault {
  std::string fault_class;  // of CONTRACT's list, or "unclassified"
  std::string point;
  int64_t layer = -1;
  Evidence evidence = Evidence::kFreeRunning;
  double ratio = 0;
  std::string words;
};

struct Ledger {
  Verdict verdict = Verdict::kIncomparable;
  std::string reason;  // for undecided and incomparable
  int64_t prompts = 0;
  int64_t tokens = 0;
  int64_t compared = 0;              // points held against the baseline
  std::vector<std::string> missing;  // in the target, not in the baseline
  std::vector<std::string> extra;    // in the baseline, unknown to the target
  int64_t nonfinite = 0;
  std::vector<Fault> faults;                    // in execution order; the first is where it began
  std::vector<std::string> weight_differences;  // modules whose fingerprints differ
  bool fingerprints_compared = false;
  std::vector<PointReport> points;  // in execution order
  double step_limit = 0;            // ratios above these are faults
  double free_limit = 0;
  bool classic_pass = false;
  ClassicTolerance classic;
  Json build;  // who computed the target: isa, mode, threads, commit, compiler

  int exit_code(bool strict) const;
};

Json to_json(const Ledger& ledger);
// The page for a terminal: verdict first, then the points that matter.
std::string to_text(const Ledger& ledger);
// One file with its plots inside (report/page.h).
std::string to_html(const Ledger& ledger);
// JUnit XML: a test case a point that was checked, failed where a fault was placed, and one for the
// verdict itself.
std::string to_junit(const Ledger& ledger);
// "equal", "equal, 2 ties", "3 WRONG", or "-" where none were compared.
std::string integers_word(const PointReport& report);

}  // namespace trilith::reconcile
