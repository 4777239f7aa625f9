// A page for people: one HTML file with its style and plots inside, that asks nothing of a network
// and runs no script. Every text passes through escape(), so that names from a file cannot become
// markup. Plain strings; not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trilith::report {

// &, <, > and quotes as entities; control characters that HTML does not allow as U+FFFD.
std::string escape(std::string_view text);

// A cell of a table: text, or markup that was made here.
struct Cell {
  std::string html;
  bool number = false;  // set to the right
};
Cell text(std::string_view value);
Cell code(std::string_view value);
Cell number(double value);
Cell number(uint64_t value);
Cell markup(std::string html);

class Page {
 public:
  explicit Page(std::string_view title);

  void heading(std::string_view text);     // h2
  void subheading(std::string_view text);  // h3
  void paragraph(std::string_view text);
  // A word in a coloured box: "good", "doubt" or "bad".
  void verdict(std::string_view word, std::string_view kind, std::string_view reason);
  // Two columns without a head.
  void facts(const std::vector<std::pair<std::string, Cell>>& rows);
  void table(const std::vector<std::string>& head, const std::vector<std::vector<Cell>>& rows);
  // An SVG with a line under it.
  void figure(const std::string& svg, std::string_view caption);
  // What follows until end_details() is folded away.
  void begin_details(std::string_view summary);
  void end_details();

  std::string finish() &&;

 private:
  std::string html_;
};

}  // namespace trilith::report
