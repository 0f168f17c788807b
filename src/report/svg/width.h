// How wide text is, for layouts without a browser.
#pragma once

#include <string>
#include <string_view>

namespace sharpmax::report {

// How wide text of this size is at most in a usual font, in pixels; text is what shown() returns.
double width_of(std::string_view text, double size, bool bold = false);
// As much of the text as fits, with an ellipsis where it is cut.
std::string cut_to(std::string_view text, double width, double size, bool bold = false);

}  // namespace sharpmax::report
