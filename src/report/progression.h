// Plots of a computation from its first step to its last, as inline SVG like those of plot.h: lines
// over steps on one logarithmic scale, and a grid of steps by layer that shows what was checked and
// where it failed. Values that are not finite and above 0 are left out of lines.
#pragma once

#include <string>
#include <vector>

namespace trilith::report {

struct Line {
  std::string name;
  std::vector<double> values;  // one a label
  std::string style;           // "", "second" (another colour) or "dashed"
};
// The scale runs over whole decades. A line is broken where it has no value.
std::string line_chart(const std::vector<std::string>& labels, const std::vector<Line>& lines);

struct Mark {
  std::string kind;  // "good", "doubt", "bad"; empty: not checked
  std::string title;
};
struct GridCell {
  std::vector<Mark> marks;  // side by side in the cell; none: an empty place
  bool outlined = false;
};
struct GridRow {
  std::string label;
  std::vector<GridCell> cells;  // one a column
};
std::string status_grid(const std::vector<std::string>& columns, const std::vector<GridRow>& rows);

}  // namespace trilith::report
