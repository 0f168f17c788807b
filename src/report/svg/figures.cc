#include "report/svg/figures.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>


namespace sharpmax::report {
namespace {

// Names of all figures. An arm, an analysis or a number may follow after a dash.
constexpr std::string_view kNames[] = {
    "accuracy",     "bars",    "blunting", "by-length", "by-position", "critical-top", "distance-length",
    "distance-top", "entropy", "failure",  "gradient",  "heads",       "heat-maps",    "lost",
    "medians",      "peak",    "probe",    "separability", "share",    "trials",       "two-by-two"};

bool has_name(std::string_view name, std::string_view known) {
  return name == known || (name.starts_with(known) && name.substr(known.size()).starts_with('-'));
}

// Names that the results hold may become the same name of a file: none is lost.
void keep(std::vector<Figure>& figures, const std::string& name, std::string svg) {
  if (svg.empty()) return;
  if (!is_figure_name(name)) throw std::logic_error("a figure without an entry in kNames: " + name);
  const auto known = [&](const std::string& one) {
    return std::any_of(figures.begin(), figures.end(), [&](const Figure& figure) { return figure.name == one; });
  };
  std::string free = name;
  for (std::size_t k = 2; known(free); ++k) free = name + '-' + std::to_string(k);
  figures.push_back({std::move(free), std::move(svg)});
}

// A layer of the explorer on paper, at the last length.
Grid grid_of(const Heads& heads, const HeadLayer& layer) {
  Grid grid{.title = layer.title, .subtitle = layer.subtitle, .described = layer.described, .ramp = layer.ramp};
  const auto share = [&](double value) {
    if (layer.scale == HeadLayer::Scale::root) return std::sqrt(std::max(0.0, value));
    if (!(layer.most > layer.least)) return 1.0;
    if (layer.scale == HeadLayer::Scale::linear) return (value - layer.least) / (layer.most - layer.least);
    return std::log(std::max(layer.least, value) / layer.least) / std::log(layer.most / layer.least);
  };
  for (std::size_t i = 0; i < heads.heads.size(); ++i) {
    const auto value = layer.values[i].empty() ? std::nullopt : layer.values[i].back();
    if (!value) grid.unknown = layer.unknown;
    grid.cells.push_back({heads.heads[i].layer, heads.heads[i].head, value, value ? share(*value) : 0.0});
  }
  return grid;
}

void gather(std::vector<Figure>& figures, const std::vector<Item>& items) {
  for (const Item& item : items)
    std::visit(
        [&](const auto& value) {
          if constexpr (requires { value.figure; }) {
            if (!value.figure.empty()) keep(figures, value.figure, drawn(value));
          } else if constexpr (requires { value.layers; }) {
            for (const HeadLayer& layer : value.layers)
              if (!layer.figure.empty()) keep(figures, layer.figure, drawn(grid_of(value, layer)));
          } else if constexpr (requires { value.options; }) {
            for (const Option& option : value.options) gather(figures, option.items);
          }
        },
        item.value);
}

}  // namespace

bool is_figure_name(std::string_view name) noexcept {
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view known) { return has_name(name, known); });
}

std::vector<Figure> figures_in(const View& view) {
  std::vector<Figure> figures;
  for (const Section& section : view.sections) gather(figures, section.items);
  return figures;
}

std::string as_file_name(std::string_view name) {
  constexpr std::size_t kMost = 40;
  std::string safe;
  for (const char c : name.substr(0, kMost)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || c == '_')
      safe += c;
    else if (!safe.empty() && safe.back() != '-')
      safe += '-';
  }
  while (safe.ends_with('-')) safe.pop_back();
  return safe.empty() ? "other" : safe;
}

}  // namespace sharpmax::report
