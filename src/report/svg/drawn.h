// Pictures as SVG. Empty where there is nothing to draw.
#pragma once

#include <string>

#include "report/view/view.h"

namespace sharpmax::report {

// Curves are named at their ends if all of them reach the largest size, else in a legend.
std::string drawn(const Chart& chart);
// Bars begin at 0, or at the low end of a logarithmic axis.
std::string drawn(const Bars& bars);
// Layers go down, or across where there are many more of them than heads.
std::string drawn(const Grid& grid);
std::string drawn(const HeatMaps& maps);

}  // namespace sharpmax::report
