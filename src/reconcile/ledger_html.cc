// The ledger as one HTML page (docs/RECONCILE.md, "The page").
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reconcile/ledger.h"
#include "reconcile/trace_file.h"
#include "report/page.h"
#include "report/progression.h"

namespace trilith::reconcile {
namespace {

using report::Cell;
using report::GridCell;
using report::GridRow;
using report::Mark;
using report::Page;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// "3" of "layers.3.q_proj"; empty outside layers.
std::string layer_label(const std::string& point) {
  const std::string_view name = without_layer(point);
  if (name.size() == point.size()) return "";
  constexpr std::string_view kPrefix = "layers.";
  return point.substr(kPrefix.size(), point.size() - name.size() - kPrefix.size() - 1);
}

// Points of the residual stream, whose error is what has gathered so far.
bool is_stream(std::string_view name) {
  return name == "embed" || name == "attn_residual" || name == "out" || name == "final_norm" ||
         name == "logits";
}

std::string stream_label(const std::string& point) {
  const std::string layer = layer_label(point);
  if (layer.empty()) return point;
  return without_layer(point) == "out" ? layer : layer + " attn";
}

std::string step_label(const std::string& point) {
  const std::string layer = layer_label(point);
  return layer.empty() ? point : fmt::format("{} {}", layer, without_layer(point));
}

std::string_view kind_of(Verdict verdict) {
  if (verdict == Verdict::kClean) return "good";
  return verdict == Verdict::kUndecided ? "doubt" : "bad";
}

std::string_view evidence_words(Evidence evidence) {
  switch (evidence) {
    case Evidence::kWeights:
      return "this model's weights do not give the baseline";
    case Evidence::kImplementation:
      return "the target does not compute its own step";
    case Evidence::kFreeRunning:
      return "the target leaves the baseline";
  }
  return "";
}

std::string plain(const Json& value) {
  return value.as_string() != nullptr ? *value.as_string() : value.dump();
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  if (names.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

class LedgerPage {
 public:
  explicit LedgerPage(const Ledger& ledger) : ledger_(ledger), page_("Ledger") {}

  std::string write() && {
    page_.verdict(verdict_name(ledger_.verdict), kind_of(ledger_.verdict), sentence());
    facts();
    faults();
    if (!ledger_.points.empty()) {
      grid();
      growth();
      steps();
      layers();
      table();
    }
    return std::move(page_).finish();
  }

 private:
  std::string sentence() const {
    if (!ledger_.reason.empty()) return ledger_.reason;
    if (!ledger_.faults.empty()) {
      const Fault& first = ledger_.faults.front();
      return fmt::format("first at {}: {}", first.point, first.words);
    }
    return "every difference is explained by rounding";
  }

  bool has_fault(const std::string& point, Evidence evidence) const {
    return std::any_of(ledger_.faults.begin(), ledger_.faults.end(), [&](const Fault& fault) {
      return fault.point == point && fault.evidence == evidence;
    });
  }
  bool is_first(const std::string& point) const {
    return !ledger_.faults.empty() && ledger_.faults.front().point == point;
  }

  void facts() {
    std::vector<std::pair<std::string, Cell>> rows{
        {"compared", report::text(fmt::format("{} points over {} prompts, {} tokens",
                                              ledger_.compared, ledger_.prompts, ledger_.tokens))},
        {"not in the baseline", report::text(listed(ledger_.missing))},
        {"not in the target", report::text(listed(ledger_.extra))},
        {"NaN or infinite", report::number(static_cast<uint64_t>(ledger_.nonfinite))},
        {"weights", report::text(weights_words())},
        {"a fixed tolerance says",
         report::text(fmt::format("{} (rtol {:g}, atol {:g})",
                                  ledger_.classic_pass ? "within" : "exceeded",
                                  ledger_.classic.rtol, ledger_.classic.atol))}};
    if (const Json::Object* const build = ledger_.build.as_object()) {
      for (const auto& [key, value] : *build) {
        if (!value.is_null()) rows.emplace_back("target " + key, report::text(plain(value)));
      }
    }
    page_.facts(rows);
  }

  std::string weights_words() const {
    if (!ledger_.fingerprints_compared) return "the baseline has no fingerprints";
    if (ledger_.weight_differences.empty()) return "the same values as the baseline's";
    return fmt::format("{} modules differ from the baseline's: {}",
                       ledger_.weight_differences.size(), listed(ledger_.weight_differences));
  }

  void faults() {
    if (ledger_.faults.empty()) return;
    page_.heading("Faults, in the order of execution");
    std::vector<std::vector<Cell>> rows;
    for (const Fault& fault : ledger_.faults) {
      rows.push_back({report::code(fault.point), report::text(fault.fault_class),
                      report::text(evidence_words(fault.evidence)), report::number(fault.ratio),
                      report::text(fault.words)});
    }
    page_.table({"point", "class", "seen as", "× rounding", "in words"}, rows);
  }

  Mark local_mark(const PointReport& point, const std::optional<LocalResult>& local,
                  Evidence evidence, std::string_view what) const {
    if (!local) return {"", fmt::format("{}: {} not checked", point.point, what)};
    return {has_fault(point.point, evidence) ? "bad" : "good",
            fmt::format("{}: {} {:.3g} × rounding", point.point, what, local->ratio)};
  }

  GridCell cell_of(const PointReport& point) const {
    GridCell cell;
    cell.marks.push_back(local_mark(point, point.weights, Evidence::kWeights, "weights"));
    cell.marks.push_back(local_mark(point, point.target, Evidence::kImplementation, "own step"));
    if (!point.free_running) {
      cell.marks.push_back({"", fmt::format("{}: not in both traces", point.point)});
    } else {
      const bool explained =
          point.floor_ratio <= ledger_.free_limit && point.free_running->nonfinite == 0;
      const char* const kind = has_fault(point.point, Evidence::kFreeRunning) ? "bad"
                               : explained                                    ? "good"
                                                                              : "doubt";
      cell.marks.push_back({kind, fmt::format("{}: target against baseline {:.3g} × rounding",
                                              point.point, point.floor_ratio)});
    }
    cell.outlined = is_first(point.point);
    return cell;
  }

  void grid() {
    std::vector<std::string> columns;
    std::vector<GridRow> rows;
    const auto column_of = [&](const std::string& name) {
      const auto found = std::find(columns.begin(), columns.end(), name);
      const auto column = static_cast<size_t>(found - columns.begin());
      if (found == columns.end()) columns.push_back(name);
      return column;
    };
    GridRow model{"model", {}};
    for (const PointReport& point : ledger_.points) {
      const std::string layer = layer_label(point.point);
      const size_t column = column_of(std::string(without_layer(point.point)));
      if (!layer.empty() && (rows.empty() || rows.back().label != layer)) {
        rows.push_back({layer, {}});
      }
      GridRow& row = layer.empty() ? model : rows.back();
      if (row.cells.size() <= column) row.cells.resize(column + 1);
      row.cells[column] = cell_of(point);
    }
    rows.push_back(std::move(model));
    page_.heading("Where it is right, and where it is not");
    page_.figure(report::status_grid(columns, rows),
                 "One row a layer, in three parts a point: the baseline recomputed from its own "
                 "inputs with these weights; the target recomputed from its own inputs; target "
                 "against baseline. Green: rounding explains it. Red: a fault of this point. "
                 "Ochre: further from the baseline than rounding explains, by what came before. "
                 "Grey: not recorded. The frame marks the first fault.");
  }

  void growth() {
    std::vector<std::string> labels;
    report::Line measured{"target against baseline", {}, ""};
    report::Line floor{"what rounding explains", {}, "dashed"};
    const bool stream =
        std::any_of(ledger_.points.begin(), ledger_.points.end(), [](const PointReport& point) {
          return point.free_running && is_stream(without_layer(point.point)) &&
                 !layer_label(point.point).empty();
        });
    for (const PointReport& point : ledger_.points) {
      if (!point.free_running) continue;
      if (stream && !is_stream(without_layer(point.point))) continue;
      labels.push_back(stream ? stream_label(point.point) : step_label(point.point));
      measured.values.push_back(point.free_running->rel_l2);
      floor.values.push_back(point.floor_rel);
    }
    if (labels.empty()) return;
    page_.heading("How the difference grows");
    page_.figure(report::line_chart(labels, {measured, floor}),
                 "‖target − baseline‖ / ‖baseline‖ along the residual stream, worst prompt, "
                 "beside the same measure of the rounding floor. Equal values are not drawn.");
  }

  void steps() {
    std::vector<std::string> labels;
    report::Line weights{"baseline, with these weights", {}, "second"};
    report::Line target{"target, from its own inputs", {}, ""};
    report::Line limit{"limit", {}, "dashed"};
    for (const PointReport& point : ledger_.points) {
      if (!point.weights && !point.target) continue;
      labels.push_back(step_label(point.point));
      weights.values.push_back(point.weights ? point.weights->ratio : kNone);
      target.values.push_back(point.target ? point.target->ratio : kNone);
      limit.values.push_back(ledger_.step_limit);
    }
    if (labels.empty()) return;
    page_.heading("Each operation by itself");
    page_.figure(report::line_chart(labels, {target, weights, limit}),
                 "Error of one step from recorded inputs, in multiples of what rounding explains, "
                 "in the order of execution.");
  }

  // Operation, block, model: one line a layer.
  void layers() {
    struct Row {
      std::string layer;
      const PointReport* worst = nullptr;
      const PointReport* attention = nullptr;
      const PointReport* out = nullptr;
    };
    std::vector<Row> layers;
    for (const PointReport& point : ledger_.points) {
      const std::string layer = layer_label(point.point);
      if (layer.empty()) continue;
      if (layers.empty() || layers.back().layer != layer) layers.push_back({layer});
      Row& row = layers.back();
      if (point.target &&
          (row.worst == nullptr || point.target->ratio > row.worst->target->ratio)) {
        row.worst = &point;
      }
      if (!point.free_running) continue;
      if (without_layer(point.point) == "attn_residual") row.attention = &point;
      if (without_layer(point.point) == "out") row.out = &point;
    }
    if (layers.empty()) return;
    page_.heading("Layer by layer");
    const auto rel = [](const PointReport* point) {
      return point == nullptr ? report::text("–") : report::number(point->free_running->rel_l2);
    };
    std::vector<std::vector<Cell>> rows;
    for (const Row& row : layers) {
      rows.push_back(
          {report::text(row.layer),
           row.worst == nullptr ? report::text("–") : report::code(without_layer(row.worst->point)),
           row.worst == nullptr ? report::text("–") : report::number(row.worst->target->ratio),
           rel(row.attention), rel(row.out),
           row.out == nullptr ? report::text("–") : report::number(row.out->floor_rel),
           row.out == nullptr ? report::text("–") : report::number(row.out->floor_ratio)});
    }
    page_.table({"layer", "worst operation", "× rounding", "rel L2 after attention",
                 "rel L2 after the layer", "rounding explains", "× rounding"},
                rows);
  }

  void table() {
    page_.heading("Every point");
    std::vector<std::vector<Cell>> rows;
    const auto ratio = [](const std::optional<LocalResult>& local) {
      return local ? report::number(local->ratio) : report::text("–");
    };
    for (const PointReport& point : ledger_.points) {
      std::vector<Cell> row{report::code(point.point)};
      if (is_first(point.point)) row[0].html += " <b>◀ first</b>";
      if (point.free_running) {
        const Difference& d = *point.free_running;
        for (const double value : {d.rel_l2, d.cos, d.alpha, d.signed_bias, d.max_abs}) {
          row.push_back(report::number(value));
        }
        row.push_back(report::text(fmt::format("{}, {}", d.max_row, d.max_col)));
        row.push_back(report::number(d.q999));
        row.push_back(report::text(fmt::format("{} ({:.2g})", d.worst_token, d.worst_token_rel)));
        row.push_back(
            report::text(fmt::format("{} ({:.2g})", d.worst_channel, d.worst_channel_rel)));
        row.push_back(report::number(d.bit_equal));
        row.push_back(report::number(point.floor_ratio));
      } else {
        for (int i = 0; i < 11; ++i) row.push_back(report::text("–"));
      }
      row.push_back(ratio(point.weights));
      row.push_back(ratio(point.target));
      row.push_back(report::text(integers_word(point)));
      rows.push_back(std::move(row));
    }
    page_.table(
        {"point", "rel L2", "cosine", "α", "signed bias", "max abs", "at", "99.9 %", "worst token",
         "worst channel", "equal bits", "× floor", "× weights", "× step", "integers"},
        rows);
  }

  const Ledger& ledger_;
  Page page_;
};

}  // namespace

std::string to_html(const Ledger& ledger) { return LedgerPage(ledger).write(); }

}  // namespace trilith::reconcile
