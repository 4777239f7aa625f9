// Plots as inline SVG: no script, colours from the page's style, a title on every mark for those
// who point at it. Coordinates are finite whatever the values; values that are not finite are left
// out.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trilith::report {

struct Bar {
  std::string label;
  double value = 0;  // ≥ 0
  std::string note;  // shown beside the bar
};
// Horizontal bars from 0 to the largest value, one under the other.
std::string bar_chart(const std::vector<Bar>& bars);

// Upright bars side by side, for a histogram; as small as a table's cell when `small`.
std::string histogram(const std::vector<Bar>& bars, bool small = false);

struct Span {
  std::string label;
  double low = 0;
  double middle = 0;
  double high = 0;
};
struct SpanSeries {
  std::string name;
  std::vector<Span> spans;
};
// One panel a series on a common scale: a dot at the middle, a line from low to high, spans in
// order along the panel. `logarithmic` needs positive values and falls back to linear otherwise.
std::string span_panels(const std::vector<SpanSeries>& series, bool logarithmic = false);

}  // namespace trilith::report
