#include "report/svg/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/svg/svg.h"
#include "report/view/format.h"

namespace sharpmax::report {
namespace {

constexpr int kRampSteps = 40;
constexpr double kRampStep = 4.0, kRampHeight = 10.0, kRampGap = 8.0;

}  // namespace

// Where what stands after the ramp may begin.
double ramp_end(const RampWords& words, double x) {
  return x + width_of(words.low, kTextSize) + kRampSteps * kRampStep + 2.0 * kRampGap + width_of(words.high, kTextSize);
}

// Cividis from low to high, its words at either side; y: of the words' base line.
void draw_ramp(Svg& svg, const RampWords& words, Place at) {
  svg.text({.text = words.low, .at = at});
  const double left = at.x + width_of(words.low, kTextSize) + kRampGap;
  svg.open_cells({left, at.y - kRampHeight + 1.0}, 1.0);
  for (int i = 0; i < kRampSteps; ++i)
    svg.rect({i * kRampStep, 0.0, (i + 1) * kRampStep, kRampHeight}, ramp(i / (kRampSteps - 1.0)));
  svg.close();
  svg.text({.text = words.high, .at = {left + kRampSteps * kRampStep + kRampGap, at.y}});
}

namespace {

constexpr double kMostCell = 26.0, kMostHeight = 22.0, kTickSize = 10.5, kRowRoom = 34.0;

// Names of lines and columns, each once and in order.
struct Sides {
  std::vector<double> layers, heads;
};

Sides sides_of(const Grid& grid) {
  Sides sides;
  for (const GridCell& cell : grid.cells) {
    sides.layers.push_back(cell.layer);
    sides.heads.push_back(cell.head);
  }
  for (std::vector<double>* side : {&sides.layers, &sides.heads}) {
    std::sort(side->begin(), side->end());
    side->erase(std::unique(side->begin(), side->end()), side->end());
  }
  return sides;
}

double place_in(const std::vector<double>& side, double value) {
  return static_cast<double>(std::lower_bound(side.begin(), side.end(), value) - side.begin());
}

// So many cells from one label to the next that labels do not touch.
std::size_t label_every(const std::vector<double>& side, double cell, double needed) {
  std::size_t every = 1;
  while (cell * static_cast<double>(every) < needed && every < side.size())
    every = every == 1 ? 2 : every + 2;
  return every;
}

class GridDrawing {
 public:
  explicit GridDrawing(const Grid& grid)
      : grid_(grid), sides_(sides_of(grid)), heading_(grid.title, grid.subtitle, {}) {
    // A model has more layers than heads: laid across, they make a picture that is wide rather than tall.
    lies_ = sides_.layers.size() > sides_.heads.size();
    const double columns = static_cast<double>(across().size()), lines = static_cast<double>(down().size());
    cell_ = std::min(kMostCell, (kWidth - 2.0 * kMargin - kRowRoom) / columns);
    height_ = std::min(kMostHeight, cell_);
    box_.left = kMargin + kRowRoom;
    box_.upper = heading_.lower() + 44.0;
    box_.right = box_.left + cell_ * columns;
    box_.lower = box_.upper + height_ * lines;
  }

  std::string written() const {
    Svg svg(kWidth, std::ceil(box_.lower + 44.0), grid_.title, grid_.described);
    heading_.draw(svg);
    draw_labels(svg);
    for (const GridCell& cell : grid_.cells) draw_cell(svg, cell);
    draw_legend(svg);
    return svg.written();
  }

 private:
  const std::vector<double>& across() const { return lies_ ? sides_.layers : sides_.heads; }
  const std::vector<double>& down() const { return lies_ ? sides_.heads : sides_.layers; }

  void draw_labels(Svg& svg) const {
    svg.text({.text = lies_ ? "head ↓  layer →" : "layer ↓  head →",
              .at = {kMargin, box_.upper - 23.0}, .size = kTickSize});
    const std::size_t columns = label_every(across(), cell_, 20.0),
                      lines = label_every(down(), height_, 11.0);
    for (std::size_t i = 0; i < across().size(); i += columns)
      svg.text({.text = count(across()[i]),
                .at = {box_.left + cell_ * (static_cast<double>(i) + 0.5), box_.upper - 5.0},
                .size = kTickSize,
                .anchor = Anchor::middle});
    for (std::size_t i = 0; i < down().size(); i += lines)
      svg.text({.text = count(down()[i]),
                .at = {box_.left - 6.0, box_.upper + height_ * (static_cast<double>(i) + 0.5) + 4.0},
                .size = kTickSize,
                .anchor = Anchor::end});
  }

  void draw_cell(Svg& svg, const GridCell& cell) const {
    const double column = place_in(across(), lies_ ? cell.layer : cell.head);
    const double line = place_in(down(), lies_ ? cell.head : cell.layer);
    const double gap = std::min(0.75, 0.06 * height_);
    const Box box{box_.left + cell_ * column + gap, box_.upper + height_ * line + gap,
                  box_.left + cell_ * (column + 1.0) - gap, box_.upper + height_ * (line + 1.0) - gap};
    const Attributes data = {
        {"data-head", fmt::format("{:.0f}.{:.0f}", cell.layer, cell.head)},
        {"data-value", cell.value ? fmt::format("{}", *cell.value) : "none"}};
    if (cell.value)
      svg.rect(box, ramp(cell.share), 2.0, data);
    else
      svg.rect(box, Paint::line, 2.0, data);
  }

  void draw_legend(Svg& svg) const {
    const double y = box_.lower + 27.0;
    draw_ramp(svg, grid_.ramp, {kMargin, y});
    if (grid_.unknown.empty()) return;
    const double x = ramp_end(grid_.ramp, kMargin) + 24.0;
    svg.rect(Box{x, y - 10.0, x + 12.0, y + 2.0}, Paint::line, 2.0);
    svg.text({.text = grid_.unknown, .at = {x + 19.0, y}});
  }

  const Grid& grid_;
  Sides sides_;
  Heading heading_;
  bool lies_ = false;
  double cell_ = 0.0, height_ = 0.0;
  Box box_;
};

}  // namespace

std::string drawn(const Grid& grid) { return grid.cells.empty() ? "" : GridDrawing(grid).written(); }

namespace {

constexpr int kMapShades = 24;  // so many that steps cannot be seen, so few that cells of one shade join
constexpr double kPanelGap = 8.0, kMostMapCell = 9.0, kNameStep = 20.0, kBelow = 40.0;

// The square root spends the colours where dispersed weights are: 1/16 of the weight is a quarter of the way.
int shade_of(const std::optional<double>& weight) {
  return weight ? static_cast<int>(std::lround(std::sqrt(std::clamp(*weight, 0.0, 1.0)) * (kMapShades - 1))) : 0;
}

// Cells of one shade are one path; runs within a line are one rectangle of it.
void draw_panel(Svg& svg, const Panel& panel, Place at, double cell) {
  std::map<int, std::string> paths;
  std::size_t items = 0;
  for (std::size_t line = 0; line < panel.weights.size(); ++line) {
    const auto& weights = panel.weights[line];
    items = std::max(items, weights.size());
    for (std::size_t begin = 0, end = 0; begin < weights.size(); begin = end) {
      while (end < weights.size() && shade_of(weights[end]) == shade_of(weights[begin])) ++end;
      paths[shade_of(weights[begin])] += fmt::format("M{0} {1}h{2}v1h-{2}z", begin, line, end - begin);
    }
  }
  svg.open({{"data-panel", panel.name}});
  svg.open_cells(at, cell);
  svg.rect({0.0, 0.0, static_cast<double>(items), static_cast<double>(panel.weights.size())}, ramp(0.0));
  paths.erase(0);
  for (const auto& [shade, path] : paths) svg.path(path, ramp(static_cast<double>(shade) / (kMapShades - 1)));
  svg.close();
  svg.close();
}

struct Extent {
  std::size_t panels = 0, items = 0, sets = 0;
};

Extent extent_of(const HeatMaps& maps) {
  Extent most;
  for (const PanelLine& line : maps.lines) {
    most.panels = std::max(most.panels, line.panels.size());
    for (const Panel& panel : line.panels) {
      most.sets = std::max(most.sets, panel.weights.size());
      for (const auto& weights : panel.weights) most.items = std::max(most.items, weights.size());
    }
  }
  return most;
}

std::string described(const HeatMaps& maps) {
  std::string text;
  for (const PanelLine& line : maps.lines) {
    text += line.name + ":";
    for (const Panel& panel : line.panels) text += fmt::format(" {} {};", panel.name, formatted(fixed_to(2), panel.below));
    text += " ";
  }
  return text;
}

}  // namespace

std::string drawn(const HeatMaps& all) {
  HeatMaps maps = all;
  std::erase_if(maps.lines, [](const PanelLine& line) { return line.spare > 0; });
  const Extent most = extent_of(maps);
  if (most.items == 0) return "";
  const double step = (kWidth - 2.0 * kMargin + kPanelGap) / static_cast<double>(most.panels);
  const double cell = std::min(kMostMapCell, (step - kPanelGap) / static_cast<double>(most.items));
  const double wide = cell * static_cast<double>(most.items), high = cell * static_cast<double>(most.sets);
  const Heading heading(maps.title, maps.subtitle, {});
  const double line_height = kNameStep + high + kBelow + 14.0;
  const double upper = heading.lower() + 12.0;
  const double lower = upper + line_height * static_cast<double>(maps.lines.size());
  Svg svg(kWidth, std::ceil(lower + 26.0), maps.title, described(maps));
  heading.draw(svg);
  const double text_size = wide < 60.0 ? 10.0 : kTextSize;
  for (std::size_t i = 0; i < maps.lines.size(); ++i) {
    const double top = upper + line_height * static_cast<double>(i) + kNameStep;
    svg.text({.text = cut_to(shown(maps.lines[i].name), kWidth - 2.0 * kMargin, kLabelSize, true),
              .at = {kMargin, top - 7.0}, .paint = Paint::ink, .size = kLabelSize, .bold = true});
    for (std::size_t k = 0; k < maps.lines[i].panels.size(); ++k) {
      const Panel& panel = maps.lines[i].panels[k];
      const double left = kMargin + step * static_cast<double>(k);
      draw_panel(svg, panel, {left, top}, cell);
      const Place middle{left + 0.5 * wide, top + high + 15.0};
      svg.text({.text = panel.name,
                .at = middle, .paint = Paint::ink, .size = text_size, .anchor = Anchor::middle});
      svg.text({.text = formatted(fixed_to(2), panel.below),
                .at = {middle.x, middle.y + 15.0}, .size = text_size, .anchor = Anchor::middle});
    }
  }
  draw_ramp(svg, maps.ramp, {kMargin, lower + 8.0});
  return svg.written();
}

}  // namespace sharpmax::report
