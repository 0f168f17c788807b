// Figures as they come, those that cannot be drawn left out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/svg/drawn.h"
#include "report/figure/figures.h"

namespace sharpmax::report {

class Gathered {
 public:
  void add(std::string name, const Chart& chart) {
    if (is_drawable(chart)) keep(std::move(name), drawn(chart));
  }
  void add(std::string name, std::string svg) {
    if (!svg.empty()) keep(std::move(name), std::move(svg));
  }
  std::vector<Figure> figures() && { return std::move(figures_); }

 private:
  // Names that the results hold may become the same name of a file: none is lost.
  void keep(std::string name, std::string svg);

  std::vector<Figure> figures_;
};

// Fit for the name of a file, whatever the results hold.
std::string as_file_name(std::string_view name);

}  // namespace sharpmax::report
