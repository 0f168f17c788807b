#include "report/figure/gathered.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "report/figure/drawings.h"
#include "report/figure/figures.h"

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

}  // namespace

bool is_figure_name(std::string_view name) noexcept {
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view known) { return has_name(name, known); });
}

void Gathered::keep(std::string name, std::string svg) {
  if (!is_figure_name(name)) throw std::logic_error("a figure without an entry in kNames: " + name);
  const auto known = [&](const std::string& one) {
    return std::any_of(figures_.begin(), figures_.end(),
                       [&](const Figure& figure) { return figure.name == one; });
  };
  std::string free = name;
  for (std::size_t k = 2; known(free); ++k) free = name + '-' + std::to_string(k);
  figures_.push_back({std::move(free), std::move(svg)});
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

namespace {

using Json = nlohmann::ordered_json;

struct Together {
  std::string_view schema;
  const char* name;
  Chart (*chart)(std::span<const Json> results);
};
constexpr Together kTogether[] = {{"sharpmax.bound.spread/1", "lost", lost_chart},
                                  {"sharpmax.perplexity/1", "by-position", loss_chart},
                                  {"sharpmax.audit/1", "by-length", blunt_chart_of}};

}  // namespace

std::vector<Figure> compared_figures(std::span<const Json> results) {
  Gathered gathered;
  for (const Together& together : kTogether)
    if (std::all_of(results.begin(), results.end(),
                    [&](const Json& one) { return one.at("schema") == together.schema; }))
      gathered.add(together.name, together.chart(results));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
