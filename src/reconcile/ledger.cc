#include "reconcile/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace trilith::reconcile {
namespace {

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kWeights:
      return "weights";
    case Evidence::kImplementation:
      return "implementation";
    case Evidence::kFreeRunning:
      return "free-running";
  }
  return "";
}

Json local_json(const LocalResult& local) {
  Json json = to_json(local.difference);
  json.set("ratio", local.ratio);
  if (local.integers.compared) {
    json.set("integers", Json::object({{"equal", local.integers.equal()},
                                       {"ties", local.integers.ties},
                                       {"wrong_codes", local.integers.wrong_codes},
                                       {"wrong_sums", local.integers.wrong_sums}}));
  }
  return json;
}

// The numbers CONTRACT names come from the free-running comparison where there is one, and
// local_rel from the step's own check: what this step alone adds.
Json point_json(const PointReport& report) {
  Json json = Json::object({{"point", report.point}});
  if (report.free_running) {
    const Json metrics = to_json(*report.free_running);
    for (const auto& [key, value] : *metrics.as_object()) json.set(key, value);
    json.set("floor_ratio", report.floor_ratio);
    json.set("floor_rel", report.floor_rel);
  }
  if (report.target) {
    json.set("local_rel", report.target->difference.rel_l2);
    json.set("local", local_json(*report.target));
  }
  if (report.weights) json.set("weights", local_json(*report.weights));
  return json;
}

Json fault_json(const Fault& fault) {
  return Json::object({{"class", fault.fault_class},
                       {"name", fault.words},
                       {"point", fault.point},
                       {"layer", fault.layer},
                       {"evidence", evidence_name(fault.evidence)},
                       {"ratio", fault.ratio}});
}

std::string ratio_word(const std::optional<LocalResult>& local) {
  return local ? fmt::format("{:.3g}", local->ratio) : "-";
}

std::string point_line(const PointReport& report) {
  std::string line = fmt::format("{:<26}", report.point);
  if (report.free_running) {
    const Difference& d = *report.free_running;
    line += fmt::format("{:>10.2e} {:>10.2e} {:>11.8f} {:>12} {:>8.3g}", d.max_abs, d.rel_l2, d.cos,
                        fmt::format("[{},{}]", d.max_row, d.max_col), report.floor_ratio);
  } else {
    line += fmt::format("{:>10} {:>10} {:>11} {:>12} {:>8}", "-", "-", "-", "-", "-");
  }
  return line + fmt::format(" {:>9} {:>9}  {}\n", ratio_word(report.weights),
                            ratio_word(report.target), integers_word(report));
}

}  // namespace

std::string integers_word(const PointReport& report) {
  if (!report.target || !report.target->integers.compared) return "-";
  const IntegerCheck& integers = report.target->integers;
  if (!integers.equal()) {
    return fmt::format("{} WRONG", integers.wrong_codes + integers.wrong_sums);
  }
  return integers.ties == 0 ? "equal" : fmt::format("equal, {} ties", integers.ties);
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kClean:
      return "clean";
    case Verdict::kFault:
      return "fault";
    case Verdict::kUndecided:
      return "undecided";
    case Verdict::kIncomparable:
      return "incomparable";
  }
  return "";
}

int Ledger::exit_code(bool strict) const {
  switch (verdict) {
    case Verdict::kClean:
      return 0;
    case Verdict::kUndecided:
      return strict ? 3 : 0;
    case Verdict::kFault:
    case Verdict::kIncomparable:
      return 3;
  }
  return 3;
}

Json to_json(const Ledger& ledger) {
  Json json =
      Json::object({{"schema", "trilith.ledger/1"}, {"verdict", verdict_name(ledger.verdict)}});
  if (!ledger.reason.empty()) json.set("reason", ledger.reason);
  json.set("coverage", Json::object({{"compared", ledger.compared},
                                     {"missing", Json::array(ledger.missing)},
                                     {"extra", Json::array(ledger.extra)},
                                     {"nonfinite", ledger.nonfinite},
                                     {"prompts", ledger.prompts},
                                     {"tokens", ledger.tokens}}));
  Json first;
  if (!ledger.faults.empty()) {
    first.set("point", ledger.faults.front().point);
    first.set("layer", ledger.faults.front().layer);
  }
  json.set("first", std::move(first));
  Json faults = Json(Json::Array());
  for (const Fault& fault : ledger.faults) faults.push(fault_json(fault));
  json.set("faults", std::move(faults));
  json.set("weights", Json::object({{"fingerprints_compared", ledger.fingerprints_compared},
                                    {"different", Json::array(ledger.weight_differences)}}));
  Json points = Json(Json::Array());
  for (const PointReport& report : ledger.points) points.push(point_json(report));
  json.set("points", std::move(points));
  json.set("limits",
           Json::object({{"step", ledger.step_limit}, {"free_running", ledger.free_limit}}));
  json.set("classic", Json::object({{"rtol", ledger.classic.rtol},
                                    {"atol", ledger.classic.atol},
                                    {"pass", ledger.classic_pass}}));
  json.set("build", ledger.build);
  return json;
}

std::string to_text(const Ledger& ledger) {
  std::string text = fmt::format("verdict  {}", verdict_name(ledger.verdict));
  if (!ledger.reason.empty()) text += ": " + ledger.reason;
  text += fmt::format("\ncompared {} points over {} prompts, {} tokens", ledger.compared,
                      ledger.prompts, ledger.tokens);
  if (ledger.nonfinite > 0) text += fmt::format("; {} NaN or infinite values", ledger.nonfinite);
  text += "\n";
  if (ledger.fingerprints_compared) {
    text += ledger.weight_differences.empty()
                ? "weights  the same codes, scales and dense values as the baseline's\n"
                : fmt::format("weights  {} modules differ from the baseline's, the first is {}\n",
                              ledger.weight_differences.size(), ledger.weight_differences.front());
  }
  text += fmt::format("classic  rtol {:g}, atol {:g}: {}\n", ledger.classic.rtol,
                      ledger.classic.atol, ledger.classic_pass ? "within" : "exceeded");
  for (const Fault& fault : ledger.faults) {
    text += fmt::format("fault    {}: {}\n", fault.point, fault.words);
  }
  text +=
      fmt::format("\n{:<26}{:>10} {:>10} {:>11} {:>12} {:>8} {:>9} {:>9}  {}\n", "point", "max abs",
                  "rel L2", "cosine", "at", "x floor", "x weights", "x op", "integers");
  for (const PointReport& report : ledger.points) text += point_line(report);
  return text;
}

}  // namespace trilith::reconcile
