// What stands above every figure: its title, words below it, and a legend; and how wide text is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/svg/svg.h"

namespace sharpmax::report {

inline constexpr double kWidth = 860.0, kMargin = 24.0;
inline constexpr double kTitleSize = 16.0, kTextSize = 12.0, kLabelSize = 13.0;

// Laid out first, because the height of what is below depends on it; then drawn.
class Heading {
 public:
  Heading(std::string_view title, std::string_view subtitle, const std::vector<Entry>& legend,
          double width = kWidth);
  double lower() const { return lower_; }
  void draw(Svg& svg) const;

 private:
  struct PlacedEntry {
    Entry entry;
    Place at;
  };
  void place_legend(const std::vector<Entry>& legend, double width);

  std::vector<std::string> title_, subtitle_;
  std::vector<PlacedEntry> legend_;
  double legend_upper_ = 0.0, lower_ = 0.0;
};

// Broken between words; a word that is too long is cut.
std::vector<std::string> wrapped(std::string_view text, double width, double size, bool bold = false);

// How wide text of this size is at most in a usual font, in pixels, for layouts without a browser; text is what shown() returns.
double width_of(std::string_view text, double size, bool bold = false);
// As much of the text as fits, with an ellipsis where it is cut.
std::string cut_to(std::string_view text, double width, double size, bool bold = false);

}  // namespace sharpmax::report
