#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page.h"
#include "report/svg.h"

namespace trilith::report {
namespace {

constexpr double kRow = 18;
constexpr double kLabel = 330;  // room for the labels of bars
constexpr double kBars = 360;
constexpr double kNotes = 190;  // and for what stands behind them
constexpr double kPanelHeight = 110;
constexpr double kPanelWidth = 210;
constexpr double kPanelEdge = 44;  // room for the scale left of the first panel
constexpr size_t kPanelsARow = 4;

double largest(const std::vector<Bar>& bars) {
  double most = 0;
  for (const Bar& bar : bars) {
    if (std::isfinite(bar.value)) most = std::max(most, bar.value);
  }
  return most;
}

double share_of(double value, double most) {
  return most > 0 && std::isfinite(value) ? std::clamp(value / most, 0.0, 1.0) : 0.0;
}

bool is_finite(const Span& span) {
  return std::isfinite(span.low) && std::isfinite(span.middle) && std::isfinite(span.high);
}

// From value to a share of the height.
class Scale {
 public:
  Scale(const std::vector<SpanSeries>& series, bool logarithmic) : logarithmic_(logarithmic) {
    low_ = 1e300;
    high_ = -1e300;
    for (const SpanSeries& one : series) {
      for (const Span& span : one.spans) {
        if (!is_finite(span)) continue;
        low_ = std::min(low_, std::min(span.low, span.middle));
        high_ = std::max(high_, std::max(span.high, span.middle));
      }
    }
    if (low_ > high_) low_ = high_ = 0;
    if (low_ <= 0) logarithmic_ = false;
    if (low_ == high_) {
      low_ -= 0.5;
      high_ += 0.5;
      logarithmic_ = false;
    }
  }
  double place(double value) const {
    const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                      : (value - low_) / (high_ - low_);
    return std::clamp(share, 0.0, 1.0);
  }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool logarithmic_;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace

std::string bar_chart(const std::vector<Bar>& bars) {
  const double most = largest(bars);
  std::string svg =
      open_svg(kLabel + kBars + kNotes, kRow * static_cast<double>(bars.size()) + 4, "bars");
  double y = 2;
  for (const Bar& bar : bars) {
    const double width = kBars * share_of(bar.value, most);
    svg += words(kLabel - 6, y + 12, shortened(bar.label), "end");
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{}: {:.6g}</title></rect>",
        kLabel, y + 2, width, kRow - 5, escape(bar.label), bar.value);
    svg += words(kLabel + width + 6, y + 12, bar.note);
    y += kRow;
  }
  return svg + "</svg>";
}

std::string histogram(const std::vector<Bar>& bars, bool small) {
  const double height = small ? 20 : 110;
  const double foot = small ? 0 : 16;
  const double step =
      small ? std::clamp(96.0 / std::max<double>(1, static_cast<double>(bars.size())), 0.5, 14.0)
            : std::clamp(640.0 / std::max<double>(1, static_cast<double>(bars.size())), 3.0, 56.0);
  const double most = largest(bars);
  std::string svg =
      open_svg(step * static_cast<double>(bars.size()) + 2, height + foot, "histogram");
  double x = 1;
  for (const Bar& bar : bars) {
    const double tall = (height - 2) * share_of(bar.value, most);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\">"
        "<title>{}: {}</title></rect>",
        x, height - tall, step * 0.86, tall, escape(bar.label),
        escape(bar.note.empty() ? fmt::format("{:.6g}", bar.value) : bar.note));
    if (!small && step >= 14) svg += words(x + step * 0.43, height + 12, bar.label, "middle");
    x += step;
  }
  return svg + "</svg>";
}

std::string span_panels(const std::vector<SpanSeries>& series, bool logarithmic) {
  const Scale scale(series, logarithmic);
  const size_t rows = (series.size() + kPanelsARow - 1) / kPanelsARow;
  const double row_height = kPanelHeight + 26;
  std::string svg =
      open_svg(kPanelEdge + kPanelWidth * static_cast<double>(std::min(series.size(), kPanelsARow)),
               row_height * static_cast<double>(rows), "spans");
  for (size_t s = 0; s < series.size(); ++s) {
    const double left = kPanelEdge + kPanelWidth * static_cast<double>(s % kPanelsARow);
    const size_t row = s / kPanelsARow;
    const double top = row_height * static_cast<double>(row) + 18;
    const auto y_of = [&](double value) {
      return top + (kPanelHeight - 6) * (1 - scale.place(value)) + 3;
    };
    svg += words(left, top - 5, shortened(series[s].name));
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>", left,
        top, top + kPanelHeight);
    if (s % kPanelsARow == 0) {
      svg += words(left - 4, top + kPanelHeight, fmt::format("{:.3g}", scale.low()), "end");
      svg += words(left - 4, top + 10, fmt::format("{:.3g}", scale.high()), "end");
    }
    const auto count = static_cast<double>(series[s].spans.size());
    const double step = (kPanelWidth - 24) / std::max(1.0, count);
    for (size_t i = 0; i < series[s].spans.size(); ++i) {
      const Span& span = series[s].spans[i];
      if (!is_finite(span)) continue;
      const double x = left + 6 + step * (static_cast<double>(i) + 0.5);
      svg += fmt::format(
          "<line class=\"whisker\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>"
          "<circle class=\"dot\" cx=\"{0:.1f}\" cy=\"{3:.1f}\" r=\"2.6\">"
          "<title>{4}: {5:.5g} ({6:.5g} … {7:.5g})</title></circle>",
          x, y_of(span.low), y_of(span.high), y_of(span.middle), escape(span.label), span.middle,
          span.low, span.high);
    }
  }
  return svg + "</svg>";
}

}  // namespace trilith::report
