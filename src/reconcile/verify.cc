#include "reconcile/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/log.h"
#include "base/thread_pool.h"
#include "reconcile/noise.h"
#include "reconcile/trace_run.h"
#include "reference/reference.h"

namespace trilith::reconcile {
namespace {

using reference::Matrix;
using reference::Mode;
using reference::Reference;

// How many floors a difference may be. Measured over clean runs and injected faults
// (docs/RECONCILE.md): clean ratios stay below half of it, faults start far above.
constexpr double kStepLimit = 32;
constexpr double kFreeLimit = 32;
// A record of the reference is its values rounded once; its steps then give 1.9 floors at most over
// a few tokens (SmolLM2-135M, 453 points). A run that errs by r roundings a step is at most r times
// as far from the exact one as the target's floor has it, so it widens that floor to at most 3.
constexpr double kExactLimit = 2;

int64_t layer_of(const std::string& point) {
  constexpr std::string_view kPrefix = "layers.";
  if (!point.starts_with(kPrefix)) return -1;
  return std::strtoll(point.c_str() + kPrefix.size(), nullptr, 10);
}

template <typename T>
double norm_of(const std::vector<T>& values) {
  double squares = 0;
  for (const T value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

class Verification {
 public:
  Verification(const TraceFile& baseline, const VerifyOptions& options, Reference base_reference,
               Reference target_reference)
      : baseline_(baseline),
        options_(options),
        base_reference_(std::move(base_reference)),
        target_reference_(std::move(target_reference)) {
    ledger_.classic = options.classic;
    ledger_.build = options.build;
    ledger_.classic_pass = true;
    for (const reference::Step& step : target_reference_.steps()) {
      position_[step.point] = ledger_.points.size();
      ledger_.points.emplace_back().point = step.point;
    }
  }

  Result<Ledger> run(const model::Weights& weights, const TargetRun& target) {
    compare_weight_fingerprints(weights);
    ProgressBar progress("verifying", static_cast<uint64_t>(baseline_.prompt_count()));
    for (int64_t prompt = 0; prompt < baseline_.prompt_count(); ++prompt) {
      const std::vector<int32_t>& ids = baseline_.ids(prompt);
      if (ids.empty()) continue;
      TRILITH_ASSIGN_OR_RETURN(const PromptValues values, target(prompt, ids));
      if (values.ids != ids) return incomparable(fmt::format("prompt {}: other token ids", prompt));
      TRILITH_ASSIGN_OR_RETURN(const bool comparable, check_prompt(prompt, values));
      if (!comparable) return std::move(ledger_);
      ++ledger_.prompts;
      ledger_.tokens += static_cast<int64_t>(ids.size());
      progress.advance();
    }
    finish();
    return std::move(ledger_);
  }

 private:
  Ledger incomparable(std::string reason) {
    ledger_.verdict = Verdict::kIncomparable;
    ledger_.reason = std::move(reason);
    return ledger_;
  }

  void compare_weight_fingerprints(const model::Weights& weights) {
    const Json& stored = baseline_.description()["weights"];
    if (!stored.is_object()) return;
    ledger_.fingerprints_compared = true;
    const Json own = weight_fingerprints(weights);
    for (const auto& [module, print] : *own.as_object()) {
      if (!(stored[module] == print)) ledger_.weight_differences.push_back(module);
    }
  }

  // False when the shapes make the rest meaningless; the ledger then says so.
  Result<bool> check_prompt(int64_t prompt, const PromptValues& target) {
    const PromptValues base = read_prompt(baseline_, prompt);
    for (const auto& [point, values] : base.floats) {
      const auto* other = target.find(point);
      if (other != nullptr && other->cols != values.cols) {
        incomparable(fmt::format("{} has {} columns in the baseline and {} in the target", point,
                                 values.cols, other->cols));
        return false;
      }
    }
    TRILITH_ASSIGN_OR_RETURN(const auto weight_checks, steps_of(base_reference_, base));
    for (const StepCheck& check : weight_checks) keep_worst(report(check).weights, check);
    TRILITH_ASSIGN_OR_RETURN(const auto target_checks, steps_of(target_reference_, target));
    for (const StepCheck& check : target_checks) keep_worst(report(check).target, check);
    TRILITH_ASSIGN_OR_RETURN(const PromptValues exact, exact_values(base, weight_checks));
    TRILITH_RETURN_IF_ERROR(compare_free_running(base, exact, target));
    return true;
  }

  // A trace of summaries alone has no row that a step could be checked on.
  static Result<std::vector<StepCheck>> steps_of(const Reference& reference,
                                                 const PromptValues& values) {
    if (values.rows.empty()) return std::vector<StepCheck>();
    return check_steps(reference, values);
  }

  // The base reference over the prompt, at the rows of `base`. A whole record in which every value
  // has just been seen to follow from those before it, up to rounding, is such a run itself.
  Result<PromptValues> exact_values(const PromptValues& base,
                                    const std::vector<StepCheck>& checks) const {
    const bool follows = std::all_of(checks.begin(), checks.end(), [](const StepCheck& check) {
      return check.ratio <= kExactLimit && check.difference.nonfinite == 0 &&
             check.integers.equal();
    });
    const auto recorded =
        std::count_if(base.floats.begin(), base.floats.end(),
                      [&](const auto& at) { return position_.contains(at.first); });
    if (base.is_whole() && follows && static_cast<size_t>(recorded) == checks.size()) return base;
    Recorder exact(base.ids);
    TRILITH_RETURN_IF_ERROR(base_reference_.run(base.ids, &exact));
    return select_rows(exact.take(), base.rows);
  }

  PointReport& report(const StepCheck& check) {
    return ledger_.points[position_.at(check.step->point)];
  }

  static void keep_worst(std::optional<LocalResult>& kept, const StepCheck& check) {
    const bool had_integers = kept && kept->integers.compared;
    IntegerCheck integers = check.integers;
    if (had_integers) {
      integers.compared = true;
      integers.ties += kept->integers.ties;
      integers.wrong_codes += kept->integers.wrong_codes;
      integers.wrong_sums += kept->integers.wrong_sums;
    }
    if (!kept || check.ratio > kept->ratio || std::isnan(check.ratio) ||
        check.difference.nonfinite > 0) {
      kept = LocalResult{check.difference, check.ratio, integers};
    } else {
      kept->integers = integers;
    }
  }

  Status compare_free_running(const PromptValues& base, const PromptValues& exact,
                              const PromptValues& target) {
    // Both precisions from the same weights: what a correct target differs by.
    TRILITH_ASSIGN_OR_RETURN(const PromptValues rounded, rounded_run(target_reference_, base.ids));
    // Traces may store different tokens of a prompt.
    std::vector<int64_t> rows;
    std::set_intersection(base.rows.begin(), base.rows.end(), target.rows.begin(),
                          target.rows.end(), std::back_inserter(rows));
    const PromptValues base_rows = base.rows == rows ? base : select_rows(base, rows);
    const PromptValues exact_rows = exact.rows == rows ? exact : select_rows(exact, rows);
    const PromptValues target_rows = target.rows == rows ? target : select_rows(target, rows);
    const PromptValues floor_a = select_rows(rounded, rows);
    for (PointReport& point : ledger_.points) {
      if (rows.empty()) break;
      const auto* r = base_rows.find(point.point);
      const auto* y = target_rows.find(point.point);
      if (r == nullptr || y == nullptr) continue;
      const Difference difference =
          compare(r->rows, r->cols, r->values, y->values, options_.classic);
      const Recorded<float>& a = *floor_a.find(point.point);
      const Recorded<float>& b = *exact_rows.find(point.point);
      Matrix error(r->rows, r->cols);
      Matrix floor(r->rows, r->cols);
      const double unit = unit_roundoff(r->values);
      for (size_t i = 0; i < error.values.size(); ++i) {
        const auto size = static_cast<double>(std::fabs(b.values[i]));
        error.values[i] = static_cast<double>(y->values[i]) - static_cast<double>(r->values[i]);
        floor.values[i] =
            std::fabs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i])) +
            unit * size;
      }
      const double ratio = floor_ratio(error, floor);
      const double floor_size = norm_of(floor.values);
      const double size = norm_of(b.values);
      ledger_.nonfinite += difference.nonfinite;
      ledger_.classic_pass = ledger_.classic_pass && difference.classic_pass;
      if (!point.free_running || ratio > point.floor_ratio || std::isnan(ratio)) {
        point.free_running = difference;
        point.floor_ratio = ratio;
        point.floor_rel = size > 0 ? floor_size / size : 0;
      }
    }
    collect_coverage(base, target_rows);
    return {};
  }

  void collect_coverage(const PromptValues& base, const PromptValues& target) {
    for (const auto& [point, values] : target.floats) {
      if (position_.contains(point) && base.find(point) == nullptr) missing_.insert(point);
    }
    for (const auto& [point, values] : base.floats) {
      if (target.find(point) == nullptr) extra_.insert(point);
    }
  }

  void add_fault(const PointReport& point, Evidence evidence, double ratio, std::string words) {
    ledger_.faults.push_back({evidence == Evidence::kWeights ? "weights-other" : "unclassified",
                              point.point, layer_of(point.point), evidence, ratio,
                              std::move(words)});
  }

  // Step checks say where a fault lies; the free-running difference only says that there is one.
  void collect_faults() {
    for (const PointReport& point : ledger_.points) {
      if (point.weights && is_fault(*point.weights)) {
        add_fault(
            point, Evidence::kWeights, point.weights->ratio,
            fmt::format("this model's weights do not give the baseline's values ({:.3g} times "
                        "what rounding explains; channel {}, token {})",
                        point.weights->ratio, point.weights->difference.worst_channel,
                        point.weights->difference.worst_token));
      }
      if (point.target && is_fault(*point.target)) {
        add_fault(point, Evidence::kImplementation, point.target->ratio,
                  target_words(*point.target));
      }
    }
    if (!ledger_.faults.empty()) return;
    for (const PointReport& point : ledger_.points) {
      if (!point.free_running) continue;
      if (point.floor_ratio <= ledger_.free_limit && point.free_running->nonfinite == 0) continue;
      add_fault(point, Evidence::kFreeRunning, point.floor_ratio,
                fmt::format("the target leaves the baseline here ({:.3g} times what its precision "
                            "explains)",
                            point.floor_ratio));
      return;
    }
  }

  // Of the checks that are no faults themselves.
  double worst_step_ratio() const {
    double worst = 0;
    for (const PointReport& point : ledger_.points) {
      if (point.weights && !is_fault(*point.weights)) worst = std::max(worst, point.weights->ratio);
      if (point.target && !is_fault(*point.target)) worst = std::max(worst, point.target->ratio);
    }
    return worst;
  }

  static bool is_fault(const LocalResult& local) {
    return !(local.ratio <= kStepLimit) || local.difference.nonfinite > 0 ||
           !local.integers.equal();
  }

  static std::string target_words(const LocalResult& local) {
    if (!local.integers.equal()) {
      return fmt::format("integers differ: {} activation codes, {} accumulators",
                         local.integers.wrong_codes, local.integers.wrong_sums);
    }
    return fmt::format(
        "the target computes something else from its own inputs ({:.3g} times what rounding "
        "explains; channel {}, token {})",
        local.ratio, local.difference.worst_channel, local.difference.worst_token);
  }

  void finish() {
    for (const PointReport& point : ledger_.points) {
      if (point.free_running) ++ledger_.compared;
    }
    ledger_.missing.assign(missing_.begin(), missing_.end());
    ledger_.extra.assign(extra_.begin(), extra_.end());
    std::erase_if(ledger_.points, [](const PointReport& point) {
      return !point.free_running && !point.weights && !point.target;
    });
    if (ledger_.compared == 0) {
      incomparable("baseline and target have no point of the same tokens in common");
      return;
    }
    ledger_.step_limit = kStepLimit;
    // The free-running floor has one rounding a step. Steps that were measured to err by r
    // roundings (long sums in float32) add up to r times as much.
    ledger_.free_limit = kFreeLimit * std::max(1.0, worst_step_ratio());
    collect_faults();
    if (!ledger_.faults.empty()) {
      ledger_.verdict = Verdict::kFault;
      return;
    }
    ledger_.verdict = Verdict::kClean;
    if (!ledger_.weight_differences.empty()) {
      ledger_.verdict = Verdict::kUndecided;
      ledger_.reason = fmt::format(
          "the weights of {} differ from the baseline's, too little to show in its values",
          ledger_.weight_differences.front());
    }
  }

  const TraceFile& baseline_;
  const VerifyOptions& options_;
  const Reference base_reference_;
  const Reference target_reference_;
  Ledger ledger_;
  std::map<std::string, size_t> position_;
  std::set<std::string> missing_, extra_;
};

}  // namespace

Result<Ledger> verify(const model::Weights& weights, const TraceFile& baseline,
                      const TargetRun& target, const VerifyOptions& options) {
  Mode base_mode = Mode::kF32;
  if (const std::string* name = baseline.description()["mode"].as_string()) {
    TRILITH_ASSIGN_OR_RETURN(base_mode, reference::mode_from_name(*name));
  }
  ThreadPool pool(options.threads);
  TRILITH_ASSIGN_OR_RETURN(auto base_reference, Reference::create(weights, base_mode, pool));
  TRILITH_ASSIGN_OR_RETURN(auto target_reference,
                           Reference::create(weights, options.target_mode, pool));
  return Verification(baseline, options, std::move(base_reference), std::move(target_reference))
      .run(weights, target);
}

TargetRun trace_target(const TraceFile& trace) {
  return [&trace](int64_t prompt, const std::vector<int32_t>&) -> Result<PromptValues> {
    if (prompt >= trace.prompt_count()) return PromptValues{};  // other ids than the baseline's
    return read_prompt(trace, prompt);
  };
}

}  // namespace trilith::reconcile
