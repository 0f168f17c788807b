// Pictures as SVG, made without a browser; and the figures of a view as files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/view/view.h"
#include "sharpmax/report.h"

namespace sharpmax::report {

// Pictures. Empty where there is nothing to draw.
//
// Curves are named at their ends if all of them reach the largest size, else in a legend.
std::string drawn(const Chart& chart);
// Bars begin at 0, or at the low end of a logarithmic axis.
std::string drawn(const Bars& bars);
// Layers go down, or across where there are many more of them than heads.
std::string drawn(const Grid& grid);
std::string drawn(const HeatMaps& maps);

// Every picture of the view that has the name of a file; none that cannot be drawn.
std::vector<Figure> figures_in(const View& view);

// Whether a file that begins like this is a figure of ours, and whether one of ours could have this name.
bool is_figure(std::string_view beginning) noexcept;
bool is_figure_name(std::string_view name) noexcept;

// Fit for the name of a file, whatever the results hold.
std::string as_file_name(std::string_view name);

}  // namespace sharpmax::report
