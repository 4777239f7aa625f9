// The few pieces of SVG that all plots are made of.
#pragma once

#include <string>

namespace trilith::report {

// The opening tag; `name` is what a screen reader says.
std::string open_svg(double width, double height, const char* name);
// Text at a place, escaped; `anchor`: start, middle or end.
std::string words(double x, double y, const std::string& text, const char* anchor = "start");
// Cut to a length that labels have room for, never inside a UTF-8 sequence.
std::string shortened(const std::string& text);

}  // namespace trilith::report
