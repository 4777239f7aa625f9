// A page is well formed and closed to what names and numbers may hold.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/page.h"
#include "report/plot.h"
#include "report/progression.h"

namespace trilith::report {
namespace {

constexpr std::string_view kHostile = "</code><script>alert(\"1\")</script>&'\x01";

TEST(Report, TextsAreEscaped) {
  Page page(kHostile);
  page.heading(kHostile);
  page.verdict(kHostile, kHostile, kHostile);
  page.facts({{std::string(kHostile), code(kHostile)}});
  page.table({std::string(kHostile)}, {{text(kHostile)}});
  page.figure(bar_chart({{std::string(kHostile), 1, std::string(kHostile)}}), kHostile);
  page.figure(histogram({{std::string(kHostile), 1, std::string(kHostile)}}), kHostile);
  page.figure(span_panels({{std::string(kHostile), {{std::string(kHostile), 1, 2, 3}}}}), kHostile);
  const std::string hostile(kHostile);
  page.figure(line_chart({hostile}, {{hostile, {1.0}, hostile}}), kHostile);
  page.figure(status_grid({hostile}, {{hostile, {{{{hostile, hostile}}, true}}}}), kHostile);
  page.begin_details(kHostile);
  page.end_details();
  const std::string html = std::move(page).finish();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

TEST(Report, PlotsOfOddValuesHaveFiniteCoordinates) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const std::string& svg :
       {bar_chart({}), bar_chart({{"a", 0, ""}, {"b", nan, ""}, {"c", infinite, ""}}),
        histogram({}), histogram({{"a", nan, ""}, {"b", 1, ""}}, true), span_panels({}),
        span_panels({{"s", {{"a", 1, 1, 1}, {"b", nan, 1, 2}, {"c", -infinite, 0, 1}}}}),
        span_panels({{"s", {{"a", -1, 0, 1}}}}, true), line_chart({}, {}),
        line_chart({"a", "b", "c", "d"}, {{"l", {0, nan, infinite, -1}, ""}}),
        line_chart({"a"}, {{"l", {1e-300, 2}, ""}, {"m", {}, ""}}), status_grid({}, {}),
        status_grid({"c"}, {{"r", {{{}, false}, {{}, true}}}})}) {
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_TRUE(svg.ends_with("</svg>"));
    for (const char* bad : {"=\"nan", "=\"inf", "=\"-nan", "=\"-inf"}) {
      EXPECT_EQ(svg.find(bad), std::string::npos) << svg;
    }
  }
}

TEST(Report, SpansKeepTheirOrderOnTheScale) {
  const std::string svg = span_panels({{"s", {{"low", 1, 1, 1}, {"high", 100, 100, 100}}}}, true);
  const auto height_of = [&](const char* label) {
    const size_t title = svg.find(std::string("<title>") + label);
    const size_t at = svg.rfind("cy=\"", title);
    return std::stod(svg.substr(at + 4));
  };
  EXPECT_GT(height_of("low"), height_of("high"));  // y grows downwards
}

TEST(Report, LinesRunOverWholeDecadesAndBreakWhereThereIsNoValue) {
  const std::string svg =
      line_chart({"a", "b", "c", "d"}, {{"l", {2e-5, 0, 3e-3, 5e-3}, ""}, {"m", {1, 1, 1, 1}, ""}});
  const size_t path = svg.find("<path");
  const std::string first = svg.substr(path, svg.find("/>", path) - path);
  EXPECT_EQ(std::count(first.begin(), first.end(), 'M'), 2);
  EXPECT_EQ(std::count(first.begin(), first.end(), 'L'), 1);
  EXPECT_NE(svg.find(">1e-5<"), std::string::npos);
  EXPECT_NE(svg.find(">1e0<"), std::string::npos);
  EXPECT_EQ(svg.find(">1e-6<"), std::string::npos);
}

TEST(Report, GridShowsMarksAndTheFrame) {
  const std::string svg = status_grid(
      {"q", "k"}, {{"0", {{{{"good", "fine"}, {"bad", "wrong"}}, true}, {{{"", "none"}}, false}}}});
  EXPECT_NE(svg.find("class=\"good\""), std::string::npos);
  EXPECT_NE(svg.find("<title>wrong</title>"), std::string::npos);
  EXPECT_NE(svg.find("class=\"empty\""), std::string::npos);
  const size_t frame = svg.find("class=\"mark\"");
  EXPECT_NE(frame, std::string::npos);
  EXPECT_EQ(svg.find("class=\"mark\"", frame + 1), std::string::npos);
}

}  // namespace
}  // namespace trilith::report
