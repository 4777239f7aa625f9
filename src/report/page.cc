#include "report/page.h"

#include <fmt/format.h>

namespace trilith::report {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1a1c20; --dim: #666c76; --line: #d5d9df; --back: #ffffff;
  --fill: #3f6fb5; --soft: #b9cbe6; --good: #2f7d46; --doubt: #9a6a00; --bad: #b03030; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6ea; --dim: #9aa1ac; --line: #3a3f47;
  --back: #16181c; --fill: #7fa6e0; --soft: #34507c; --good: #6fc28a; --doubt: #dfae4a; --bad: #e87b7b; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back);
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin-top: 1.4rem; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .87rem; }
th, td { text-align: left; padding: .18rem .7rem .18rem 0; vertical-align: top; border-bottom: 1px solid var(--line);
  overflow-wrap: break-word; }
th { color: var(--dim); font-weight: 600; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font: .92em ui-monospace, monospace; } .scroll { overflow-x: auto; }
.badge { display: inline-block; padding: .1rem .6rem; border-radius: .3rem; color: var(--back); font-weight: 600; }
.good { background: var(--good); } .doubt { background: var(--doubt); } .bad { background: var(--bad); }
figure { margin: .8rem 0; } figcaption { color: var(--dim); font-size: .85rem; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--fill); }
svg { max-width: 100%; height: auto; } svg text { fill: var(--dim); font: 11px system-ui, sans-serif; }
.bar, .dot { fill: var(--fill); } .soft { fill: var(--soft); }
svg .good { fill: var(--good); } svg .doubt { fill: var(--doubt); } svg .bad { fill: var(--bad); }
.line { fill: none; stroke: var(--fill); stroke-width: 1.8; } .line.second { stroke: var(--doubt); }
.line.dashed { stroke: var(--dim); stroke-dasharray: 5 4; }
.mark { fill: none; stroke: var(--ink); stroke-width: 1.6; } .empty { fill: var(--line); opacity: .35; }
.axis { stroke: var(--line); } .whisker { stroke: var(--soft); stroke-width: 3; }
)";

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
        if (control) {
          result += "\xef\xbf\xbd";
        } else {
          result += c;
        }
      }
    }
  }
  return result;
}

Cell text(std::string_view value) { return {escape(value)}; }
Cell code(std::string_view value) { return {fmt::format("<code>{}</code>", escape(value))}; }
Cell number(double value) { return {fmt::format("{:.4g}", value), true}; }
Cell number(uint64_t value) { return {std::to_string(value), true}; }
Cell markup(std::string html) { return {std::move(html)}; }

Page::Page(std::string_view title) {
  html_ = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escape(title), kStyle);
}

void Page::heading(std::string_view text) { html_ += fmt::format("<h2>{}</h2>\n", escape(text)); }
void Page::subheading(std::string_view text) {
  html_ += fmt::format("<h3>{}</h3>\n", escape(text));
}
void Page::paragraph(std::string_view text) { html_ += fmt::format("<p>{}</p>\n", escape(text)); }

void Page::verdict(std::string_view word, std::string_view kind, std::string_view reason) {
  html_ += fmt::format("<p><span class=\"badge {}\">{}</span> {}</p>\n", escape(kind), escape(word),
                       escape(reason));
}

void Page::facts(const std::vector<std::pair<std::string, Cell>>& rows) {
  html_ += "<table>\n";
  for (const auto& [name, value] : rows) {
    html_ += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape(name), value.html);
  }
  html_ += "</table>\n";
}

void Page::table(const std::vector<std::string>& head, const std::vector<std::vector<Cell>>& rows) {
  html_ += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::string& name : head) html_ += fmt::format("<th>{}</th>", escape(name));
  html_ += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    html_ += "<tr>";
    for (const Cell& cell : row) {
      html_ += fmt::format("<td{}>{}</td>", cell.number ? " class=\"n\"" : "", cell.html);
    }
    html_ += "</tr>\n";
  }
  html_ += "</tbody>\n</table></div>\n";
}

void Page::figure(const std::string& svg, std::string_view caption) {
  html_ += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escape(caption));
}

void Page::begin_details(std::string_view summary) {
  html_ += fmt::format("<details><summary>{}</summary>\n", escape(summary));
}
void Page::end_details() { html_ += "</details>\n"; }

std::string Page::finish() && {
  html_ += "</body>\n</html>\n";
  return std::move(html_);
}

}  // namespace trilith::report
