#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figure/drawing/cells.h"
#include "report/figure/drawing/heading.h"
#include "report/figure/drawing/ramp_legend.h"
#include "report/figure/drawing/svg.h"
#include "report/figure/drawing/words.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

constexpr double kMostCell = 26.0, kMostHeight = 22.0, kTickSize = 10.5, kRowRoom = 34.0;

// Names of lines and columns, each once and in order.
struct Sides {
  std::vector<double> layers, heads;
};

Sides sides_of(const HeadGrid& grid) {
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
  explicit GridDrawing(const HeadGrid& grid)
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
              .at = {kMargin, box_.upper - 23.0},
              .size = kTickSize});
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
    const std::pair<std::string_view, std::string> data[] = {
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
    svg.text({.text = grid_.unknown, .at = {x + 19.0, y}, .size = kTextSize});
  }

  const HeadGrid& grid_;
  Sides sides_;
  Heading heading_;
  bool lies_ = false;
  double cell_ = 0.0, height_ = 0.0;
  Box box_;
};

}  // namespace

std::string drawn(const HeadGrid& grid) { return grid.cells.empty() ? "" : GridDrawing(grid).written(); }

}  // namespace sharpmax::report
