#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "inspect/sheet.h"
#include "inspect/sheet_text.h"
#include "report/page.h"
#include "report/plot.h"

namespace trilith::inspect {
namespace {

using report::Bar;
using report::Cell;
using report::Page;
using report::SpanSeries;

// Modules whose worked example is shown; their bytes are in the JSON of all.
constexpr size_t kMostExamples = 48;

std::string level_text(const CodeCount& entry) {
  return entry.level ? fmt::format("{:.4g}", *entry.level) : "no level";
}

std::vector<Bar> code_bars(const std::vector<CodeCount>& counts) {
  uint64_t total = 0;
  for (const CodeCount& entry : counts) total += entry.count;
  std::vector<Bar> bars;
  for (const CodeCount& entry : counts) {
    const auto count = static_cast<double>(entry.count);
    bars.push_back({level_text(entry), count,
                    fmt::format("code {}, {} weights, {:.2f} %", entry.code, entry.count,
                                total > 0 ? 100 * count / static_cast<double>(total) : 0)});
  }
  // By level, as weights lie on a line; codes without one last.
  std::vector<size_t> order(bars.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!counts[a].level || !counts[b].level) return counts[a].level.has_value();
    return *counts[a].level < *counts[b].level;
  });
  std::vector<Bar> sorted;
  for (const size_t i : order) sorted.push_back(std::move(bars[i]));
  return sorted;
}

// One series a role, in the order of the layers; modules of unknown roles in one series.
template <typename SpanOf>
std::vector<SpanSeries> by_role(const Sheet& sheet, SpanOf span_of) {
  std::vector<SpanSeries> series;
  std::map<std::string, size_t> place;
  for (const ModuleSheet& module : sheet.modules) {
    const std::string name = module.id ? std::string(model::role_name(module.id->role)) : "modules";
    const auto [known, fresh] = place.emplace(name, series.size());
    if (fresh) series.push_back({name, {}});
    const std::optional<std::array<double, 3>> values = span_of(module);
    if (!values) continue;
    series[known->second].spans.push_back({module.name, (*values)[0], (*values)[1], (*values)[2]});
  }
  return series;
}

class SheetPage {
 public:
  explicit SheetPage(const Sheet& sheet) : sheet_(sheet), page_("Format sheet") {}

  std::string write() && {
    head();
    if (sheet_.verdict != Verdict::kRefused) {
      for (size_t f = 0; f < sheet_.families.size(); ++f) family(f);
      spreads();
      probe();
      modules();
      examples();
      name_map();
    }
    plain();
    return std::move(page_).finish();
  }

 private:
  void head() {
    const char* const kind = sheet_.verdict == Verdict::kIdentified  ? "good"
                             : sheet_.verdict == Verdict::kAmbiguous ? "doubt"
                                                                     : "bad";
    page_.verdict(verdict_name(sheet_.verdict), kind, sheet_.reason);
    std::vector<std::pair<std::string, Cell>> facts{
        {"container", report::text(sheet_.container)},
        {"architecture",
         report::text(fmt::format("{} ({})", sheet_.architecture, sheet_.model_type))},
        {"quantisation announced", report::text(!sheet_.announced          ? "no"
                                                : sheet_.framework.empty() ? "yes, no method named"
                                                                           : sheet_.framework)},
        {"packed modules", report::number(uint64_t{sheet_.modules.size()})},
        {"plain tensors", report::number(uint64_t{sheet_.plain.size()})}};
    for (const std::string& assumption : sheet_.assumptions) {
      facts.emplace_back("assumed by the user", report::code(assumption));
    }
    page_.facts(facts);
  }

  void family(size_t index) {
    const FamilySheet& family = sheet_.families[index];
    page_.heading(fmt::format("{} module{}: {}", family.modules, family.modules == 1 ? "" : "s",
                              family.description));
    std::vector<CodeCount> counts;
    for (const ModuleSheet& module : sheet_.modules) {
      if (module.family != index) continue;
      if (counts.empty()) counts = module.code_counts;
      for (size_t i = 0; i < counts.size() && &counts != &module.code_counts; ++i) {
        if (&module != first_of(index) && i < module.code_counts.size()) {
          counts[i].count += module.code_counts[i].count;
        }
      }
    }
    if (!counts.empty()) {
      page_.figure(report::histogram(code_bars(counts)),
                   "how often each level occurs, all modules of the family");
    }
    std::vector<std::vector<Cell>> rows;
    for (const Evidence& entry : family.evidence) {
      rows.push_back({report::text(entry.field),
                      entry.value.is_null() ? Cell{} : report::code(plain_text(entry.value)),
                      report::text(status_name(entry.status)), report::text(entry.test),
                      report::text(figures(entry.numbers))});
    }
    page_.table({"field", "value", "known", "by", "figures"}, rows);
    alternatives(family);
    if (family.alignment.empty()) return;
    std::vector<Bar> bars;
    for (size_t i = 0; i < std::min<size_t>(family.alignment.size(), 12); ++i) {
      const AlignmentLine& line = family.alignment[i];
      bars.push_back(
          {line.what, line.nats, fmt::format("{:.4g} nats, rho {:.3g}", line.nats, line.mean_rho)});
    }
    page_.figure(report::bar_chart(bars),
                 "tensors over one index space that go with the chosen order");
  }

  const ModuleSheet* first_of(size_t family) const {
    const auto found = std::find_if(sheet_.modules.begin(), sheet_.modules.end(),
                                    [&](const ModuleSheet& m) { return m.family == family; });
    return found == sheet_.modules.end() ? nullptr : &*found;
  }

  void alternatives(const FamilySheet& family) {
    if (family.alternatives.empty()) {
      page_.paragraph("No other reading is left.");
      return;
    }
    page_.subheading("Readings that remain");
    std::vector<std::vector<Cell>> rows;
    for (const Alternative& alternative : family.alternatives) {
      rows.push_back({report::code(alternative.differs), report::text(alternative.why),
                      report::text(alternative.matters ? "yes" : "no")});
    }
    page_.table({"differs in", "why", "matters"}, rows);
  }

  void spreads() {
    page_.heading("Over the layers");
    page_.figure(
        report::span_panels(by_role(sheet_, [](const ModuleSheet& m) { return m.row_zero_share; })),
        "share of weights that are zero: median over the rows of a module, least and greatest row; "
        "modules in their order");
    if (const auto blocks = zero_blocks_of(sheet_)) {
      const SparseSkip skip = judge_sparse_skip(*blocks);
      page_.paragraph(fmt::format(
          "Skipping zeros: {}. {}.",
          skip.verdict == "not_worth_it" ? "not worth it" : "not measured yet", skip.reason));
    }
    page_.figure(
        report::span_panels(by_role(sheet_, [](const ModuleSheet& m) { return m.scale; }), true),
        "scales: median, least and greatest of a module; logarithmic where all are above 0");
  }

  void probe() {
    page_.heading("Probe");
    if (sheet_.probe.lines.empty()) {
      page_.paragraph(fmt::format("None: {}.", sheet_.probe.absent_because));
      return;
    }
    std::vector<Bar> bars;
    for (const ProbeLine& line : sheet_.probe.lines) {
      bars.push_back({line.reading, line.loss, fmt::format("{:.3f}", line.loss)});
    }
    page_.figure(
        report::bar_chart(bars),
        fmt::format("loss of the {} text, {} tokens, in nats a token; a model that knows "
                    "nothing has {:.3f}",
                    sheet_.probe.text_kind, sheet_.probe.tokens, sheet_.probe.uniform_loss));
  }

  void modules() {
    page_.heading("Modules");
    std::vector<std::vector<Cell>> rows;
    for (const ModuleSheet& module : sheet_.modules) {
      uint64_t bytes = 0;
      for (const StoredInfo& part : module.stored) bytes += part.bytes;
      rows.push_back(
          {report::code(module.name),
           module.id ? report::code(model::module_name(*module.id)) : report::text("unknown"),
           report::text(fmt::format("{} × {}", module.rows, module.cols)), report::number(bytes),
           report::markup(report::histogram(code_bars(module.code_counts), true)),
           report::number(module.zero_share),
           report::text(module.row_zero_share
                            ? fmt::format("{:.4g} … {:.4g}", (*module.row_zero_share)[0],
                                          (*module.row_zero_share)[2])
                            : ""),
           report::text(module.scale ? fmt::format("{:.4g} … {:.4g} … {:.4g}", (*module.scale)[0],
                                                   (*module.scale)[1], (*module.scale)[2])
                                     : ""),
           report::number(static_cast<uint64_t>(module.unused_count))});
    }
    page_.table({"stored", "module", "shape", "bytes", "codes", "zero share", "of rows", "scale",
                 "unused codes"},
                rows);
  }

  void examples() {
    page_.heading("Worked examples");
    size_t shown = 0;
    for (const ModuleSheet& module : sheet_.modules) {
      const WorkedExample& example = module.example;
      if (example.elements.empty() || ++shown > kMostExamples) continue;
      page_.begin_details(module.name);
      std::vector<std::string> head{"byte", "fields, lowest first", "weights", "codes", "levels"};
      if (!example.runner_up.empty()) head.push_back(fmt::format("under {}", example.runner_up));
      std::vector<std::vector<Cell>> rows;
      for (size_t i = 0; i < example.elements.size(); ++i) {
        rows.push_back({report::code(fmt::format("{:02x}", example.bytes[i])),
                        report::code(example.fields[i]), report::code(example.elements[i]),
                        report::code(example.codes[i]), report::code(example.levels[i])});
        if (!example.runner_up.empty() && i < example.runner_up_levels.size()) {
          rows.back().push_back(report::code(
              fmt::format("{}: {}", example.runner_up_elements[i], example.runner_up_levels[i])));
        }
      }
      page_.table(head, rows);
      page_.end_details();
    }
    if (shown > kMostExamples) {
      page_.paragraph(fmt::format("{} more are in the JSON form.", shown - kMostExamples));
    }
  }

  void name_map() {
    std::vector<std::vector<Cell>> rows;
    const auto destination = [](const model::Destination& to) {
      return report::markup(fmt::format("<code>{}</code> {} {}", report::escape(to.name),
                                        report::escape(to.op), report::escape(to.shard)));
    };
    const auto line = [&](const std::string& name, const model::ModuleId& id) {
      rows.push_back({report::code(name), destination(model::vllm_destination(id)),
                      destination(model::transformers_destination(id)),
                      destination(model::gguf_destination(id, sheet_.model_type))});
    };
    for (const ModuleSheet& module : sheet_.modules) {
      if (module.id) line(module.name, *module.id);
    }
    for (const PlainSheet& tensor : sheet_.plain) {
      if (tensor.id && !tensor.is_bias) line(tensor.name, *tensor.id);
    }
    if (rows.empty()) return;
    page_.heading("Name map");
    page_.table({"stored", "vLLM", "transformers", "GGUF"}, rows);
  }

  void plain() {
    if (sheet_.plain.empty()) return;
    page_.heading("Plain tensors");
    std::vector<std::vector<Cell>> rows;
    for (const PlainSheet& tensor : sheet_.plain) {
      rows.push_back(
          {report::code(tensor.name),
           tensor.id ? report::code(model::module_name(*tensor.id)) : report::text("unknown"),
           report::text(dtype_name(tensor.dtype)), report::text(shape_string(tensor.shape)),
           report::number(tensor.min), report::number(tensor.max)});
    }
    page_.table({"stored", "module", "dtype", "shape", "least", "greatest"}, rows);
  }

  const Sheet& sheet_;
  Page page_;
};

}  // namespace

std::string to_html(const Sheet& sheet) { return SheetPage(sheet).write(); }

}  // namespace trilith::inspect
