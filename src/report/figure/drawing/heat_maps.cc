#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/figure/drawing/cells.h"
#include "report/figure/drawing/heading.h"
#include "report/figure/drawing/ramp_legend.h"
#include "report/figure/drawing/svg.h"
#include "report/figure/drawing/words.h"

namespace sharpmax::report {
namespace {

constexpr int kMapShades = 24;  // so many that steps cannot be seen, so few that cells of one shade join
constexpr double kPanelGap = 8.0, kMostMapCell = 9.0, kNameStep = 20.0, kBelow = 40.0;

int shade_of(const std::optional<double>& share) {
  return share ? static_cast<int>(std::lround(std::clamp(*share, 0.0, 1.0) * (kMapShades - 1))) : 0;
}

// Cells of one shade are one path; runs within a line are one rectangle of it.
void draw_panel(Svg& svg, const Panel& panel, Place at, double cell) {
  std::map<int, std::string> paths;
  std::size_t items = 0;
  for (std::size_t line = 0; line < panel.shares.size(); ++line) {
    const auto& shares = panel.shares[line];
    items = std::max(items, shares.size());
    for (std::size_t begin = 0, end = 0; begin < shares.size(); begin = end) {
      while (end < shares.size() && shade_of(shares[end]) == shade_of(shares[begin])) ++end;
      paths[shade_of(shares[begin])] += fmt::format("M{0} {1}h{2}v1h-{2}z", begin, line, end - begin);
    }
  }
  const std::pair<std::string_view, std::string> data[] = {{"data-panel", panel.name}};
  svg.open(data);
  svg.open_cells(at, cell);
  svg.rect({0.0, 0.0, static_cast<double>(items), static_cast<double>(panel.shares.size())}, ramp(0.0));
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
      most.sets = std::max(most.sets, panel.shares.size());
      for (const auto& shares : panel.shares) most.items = std::max(most.items, shares.size());
    }
  }
  return most;
}

std::string described(const HeatMaps& maps) {
  std::string text;
  for (const PanelLine& line : maps.lines) {
    text += line.name + ":";
    for (const Panel& panel : line.panels) text += fmt::format(" {} {};", panel.name, panel.below);
    text += " ";
  }
  return text;
}

}  // namespace

std::string drawn(const HeatMaps& maps) {
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
              .at = {kMargin, top - 7.0},
              .paint = Paint::ink,
              .size = kLabelSize,
              .bold = true});
    for (std::size_t k = 0; k < maps.lines[i].panels.size(); ++k) {
      const Panel& panel = maps.lines[i].panels[k];
      const double left = kMargin + step * static_cast<double>(k);
      draw_panel(svg, panel, {left, top}, cell);
      const Place middle{left + 0.5 * wide, top + high + 15.0};
      svg.text({.text = panel.name,
                .at = middle,
                .paint = Paint::ink,
                .size = text_size,
                .anchor = Anchor::middle});
      svg.text({.text = panel.below,
                .at = {middle.x, middle.y + 15.0},
                .size = text_size,
                .anchor = Anchor::middle});
    }
  }
  draw_ramp(svg, maps.ramp, {kMargin, lower + 8.0});
  return svg.written();
}

}  // namespace sharpmax::report
