// The figures of a view as SVG files, made without a browser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/view/view.h"
#include "sharpmax/report.h"

namespace sharpmax::report {

// Every picture of the view that has the name of a file; none that cannot be drawn.
std::vector<Figure> figures_in(const View& view);

// Whether a file that begins like this is a figure of ours, and whether one of ours could have this name.
bool is_figure(std::string_view beginning) noexcept;
bool is_figure_name(std::string_view name) noexcept;

// Fit for the name of a file, whatever the results hold.
std::string as_file_name(std::string_view name);

}  // namespace sharpmax::report
