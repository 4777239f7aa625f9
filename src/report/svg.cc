#include "report/svg.h"

#include <fmt/format.h>

#include "report/page.h"

namespace trilith::report {
namespace {

constexpr size_t kLongestLabel = 52;

}  // namespace

std::string open_svg(double width, double height, const char* name) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}\">",
      width, height, name);
}

std::string words(double x, double y, const std::string& text, const char* anchor) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     escape(text));
}

std::string shortened(const std::string& text) {
  if (text.size() <= kLongestLabel) return text;
  size_t end = kLongestLabel;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

}  // namespace trilith::report
