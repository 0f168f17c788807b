// The one writer of SVG text. A drawing is stand-alone: no script, no font, nothing that is fetched. It
// carries its own background, so that it is readable on any page, and follows the reader's preference for
// dark. The same calls make the same bytes.
#pragma once

#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/view/view.h"

namespace sharpmax::report {

struct Shades {
  const char* name;
  const char* light;  // on white, as #rrggbb
  const char* dark;
};
// Those of the page (page.css).
const Shades& shades_of(Paint paint);

// Cividis, from 0, dark, to 1, bright, as #rrggbb.
std::string ramp(double share);

struct Place {
  double x = 0.0, y = 0.0;
};

struct Box {
  double left = 0.0, upper = 0.0, right = 0.0, lower = 0.0;
  double width() const { return right - left; }
  double height() const { return lower - upper; }
};

struct Stroke {
  Paint paint = Paint::line;
  double width = 1.0;
  std::string_view dash;
};

enum class Anchor { start, middle, end };

struct Label {
  std::string text;
  Place at;
  Paint paint = Paint::quiet;
  double size = 12.0;
  bool bold = false;
  Anchor anchor = Anchor::start;
  std::string lead;   // bold, in front
  bool halo = false;  // of the background, for text over lines
};

// Lists of names and values, in the order given. Text goes through shown() and is escaped.
using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

class Svg {
 public:
  // title: what it shows; described: the numbers, for readers who cannot see it.
  Svg(double width, double height, std::string title, std::string described);

  void line(Place from, Place to, const Stroke& stroke, Attributes more = {});
  void polyline(std::span<const Place> places, const Stroke& stroke);
  void polygon(std::span<const Place> places, Paint fill, double opacity);
  void circle(Place middle, double radius, Paint fill);
  void ring(Place middle, double radius, Paint stroke);
  void rect(const Box& box, Paint fill, double round = 0.0, Attributes more = {});
  void rect(const Box& box, std::string_view colour, double round = 0.0, Attributes more = {});
  void path(std::string_view commands, std::string_view colour);
  void text(const Label& words);

  // What is drawn until close() belongs together.
  void open(Attributes more);
  // Moved and scaled; edges stay crisp.
  void open_cells(Place at, double scale);
  void close();

  std::string written() const;

 private:
  std::string fill_class(Paint paint);
  std::string stroke_class(const Stroke& stroke);

  double width_, height_;
  std::string title_, described_, body_;
  std::set<Paint> fills_, strokes_;
};

// As few digits as a hundredth of a pixel needs.
std::string number(double value);

// What stands above every figure: its title, words below it, and a legend; and how wide text is.

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
