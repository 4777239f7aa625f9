#include "report/progression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page.h"
#include "report/svg.h"

namespace trilith::report {
namespace {

constexpr double kChartHeight = 220;
constexpr double kChartWidth = 860;
constexpr double kLeft = 58;  // room for the scale
constexpr double kKeyWidth = 230;
constexpr double kKeyHeight = 20;
constexpr size_t kMostLabels = 10;
constexpr double kCell = 42;
constexpr double kGridRow = 17;
constexpr double kGridLeft = 76;
constexpr double kGridHead = 92;  // column names stand upright

bool drawable(double value) { return std::isfinite(value) && value > 0; }

std::string class_of(const Line& line) {
  return line.style.empty() ? "" : fmt::format(" {}", escape(line.style));
}

struct Decades {
  double low = 0;
  double high = 1;  // exponents
};

Decades decades_of(const std::vector<Line>& lines) {
  double least = INFINITY;
  double most = 0;
  for (const Line& line : lines) {
    for (const double value : line.values) {
      if (!drawable(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  if (most == 0) return {};
  Decades decades{std::floor(std::log10(least)), std::ceil(std::log10(most))};
  if (decades.low == decades.high) ++decades.high;
  return decades;
}

}  // namespace

std::string line_chart(const std::vector<std::string>& labels, const std::vector<Line>& lines) {
  const Decades decades = decades_of(lines);
  const double top = kKeyHeight + 4;
  const double bottom = top + kChartHeight;
  const auto y_of = [&](double exponent) {
    return bottom - kChartHeight * (exponent - decades.low) / (decades.high - decades.low);
  };
  const double step =
      (kChartWidth - kLeft - 10) / std::max<double>(1, static_cast<double>(labels.size()));
  const auto x_of = [&](size_t i) { return kLeft + step * (static_cast<double>(i) + 0.5); };
  std::string svg = open_svg(kChartWidth, bottom + 20, "lines");
  for (size_t l = 0; l < lines.size(); ++l) {
    const double x = kLeft + kKeyWidth * static_cast<double>(l);
    svg += fmt::format("<line class=\"line{}\" x1=\"{:.1f}\" y1=\"10\" x2=\"{:.1f}\" y2=\"10\"/>",
                       class_of(lines[l]), x, x + 26);
    svg += words(x + 32, 14, shortened(lines[l].name));
  }
  const double spread = decades.high - decades.low;
  const double every = std::max(1.0, std::ceil(spread / 8));
  for (double e = decades.low; e <= decades.high; e += every) {
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
        y_of(e), kChartWidth - 10, y_of(e));
    svg += words(kLeft - 6, y_of(e) + 4, fmt::format("1e{:.0f}", e), "end");
  }
  const size_t skip = std::max<size_t>(1, (labels.size() + kMostLabels - 1) / kMostLabels);
  for (size_t i = 0; i < labels.size(); i += skip) {
    svg += words(x_of(i), bottom + 14, shortened(labels[i]), "middle");
  }
  for (const Line& line : lines) {
    std::string path;
    std::string dots;
    bool drawing = false;
    for (size_t i = 0; i < line.values.size() && i < labels.size(); ++i) {
      if (!drawable(line.values[i])) {
        drawing = false;
        continue;
      }
      const double y = y_of(std::log10(line.values[i]));
      path += fmt::format("{}{:.1f} {:.1f}", drawing ? " L" : " M", x_of(i), y);
      drawing = true;
      dots += fmt::format(
          "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\"><title>{}, {}: {:.3e}</title>"
          "</circle>",
          line.style == "dashed" ? "soft" : "dot", x_of(i), y, escape(labels[i]), escape(line.name),
          line.values[i]);
    }
    if (path.empty()) continue;
    svg += fmt::format("<path class=\"line{}\" d=\"{}\"/>", class_of(line), path.substr(1)) + dots;
  }
  return svg + "</svg>";
}

std::string status_grid(const std::vector<std::string>& columns, const std::vector<GridRow>& rows) {
  const double width = kGridLeft + kCell * static_cast<double>(columns.size()) + 60;
  std::string svg =
      open_svg(width, kGridHead + kGridRow * static_cast<double>(rows.size()) + 4, "checks");
  for (size_t c = 0; c < columns.size(); ++c) {
    const double x = kGridLeft + kCell * (static_cast<double>(c) + 0.5);
    svg += fmt::format("<g transform=\"rotate(-50 {0:.1f} {1:.1f})\">{2}</g>", x, kGridHead - 8,
                       words(x, kGridHead - 8, shortened(columns[c])));
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const double y = kGridHead + kGridRow * static_cast<double>(r);
    svg += words(kGridLeft - 8, y + 11, shortened(rows[r].label), "end");
    for (size_t c = 0; c < rows[r].cells.size() && c < columns.size(); ++c) {
      const GridCell& cell = rows[r].cells[c];
      const double x = kGridLeft + kCell * static_cast<double>(c);
      const double part = (kCell - 4) / std::max<double>(1, static_cast<double>(cell.marks.size()));
      for (size_t m = 0; m < cell.marks.size(); ++m) {
        const Mark& mark = cell.marks[m];
        svg += fmt::format(
            "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
            "<title>{}</title></rect>",
            mark.kind.empty() ? "empty" : escape(mark.kind), x + part * static_cast<double>(m),
            y + 2, part - 1.5, kGridRow - 4, escape(mark.title));
      }
      if (cell.outlined) {
        svg += fmt::format(
            "<rect class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
            x - 2, y, kCell - 1, kGridRow);
      }
    }
  }
  return svg + "</svg>";
}

}  // namespace trilith::report
