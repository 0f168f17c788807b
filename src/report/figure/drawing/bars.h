// Horizontal bars, each of one piece or of several end to end, with words beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/figure/drawing/heading.h"
#include "report/figure/drawing/scale.h"
#include "report/figure/drawing/svg.h"

namespace sharpmax::report {

struct Piece {
  double length = 0.0;
  Paint paint = Paint::grey;
};

struct Bar {
  std::string name;
  std::vector<Piece> pieces;
  std::vector<std::string> beside;  // numbers, right of the plot
  std::optional<double> low, high;  // an interval, as a thin line over the end
  bool bold = false;
};

struct Bars {
  std::string title, subtitle, described;
  std::vector<Entry> legend;
  Axis across;
  std::vector<std::string> beside;  // what the numbers are, a column each
  std::vector<Bar> bars;
  std::optional<double> mark;  // a vertical line to judge by
};

// Bars begin at 0, or at the low end of a logarithmic axis. Empty where there is no bar.
std::string drawn(const Bars& bars);

}  // namespace sharpmax::report
