// Maps of many cells coloured by cividis: panels of weights side by side, and a grid of layers and heads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sharpmax::report {

// One panel is one size: [set][item], each a share of the ramp; none where nothing was measured.
struct Panel {
  std::string name;
  std::string below;
  std::vector<std::vector<std::optional<double>>> shares;
};

struct PanelLine {
  std::string name;
  std::vector<Panel> panels;
};

struct RampWords {
  std::string low, high;
};

struct HeatMaps {
  std::string title, subtitle;
  RampWords ramp;
  std::vector<PanelLine> lines;
};
// Empty where there is no cell.
std::string drawn(const HeatMaps& maps);

struct GridCell {
  double layer = 0.0, head = 0.0;
  std::optional<double> value;  // as measured
  double share = 0.0;           // of the ramp
};

struct HeadGrid {
  std::string title, subtitle, described;
  RampWords ramp;
  std::string unknown;  // what a cell without a value means; empty: there is none
  std::vector<GridCell> cells;
};
// Empty where there is no cell. Layers go down, or across where there are many more of them than heads.
std::string drawn(const HeadGrid& grid);

}  // namespace sharpmax::report
