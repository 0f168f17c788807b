// What several spreads of scores allow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kind/bound_members.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr double kMostLog10 = 300.0;  // what a number can hold

std::optional<double> published_lost(const Json& results) {
  const auto log10 = number_at(results.at("softmax_lost"), "log10_n_published");
  return log10 && *log10 < kMostLog10 ? std::optional(std::pow(10.0, *log10)) : std::nullopt;
}

// The number of keys from which none can have the weight, against the spread.
Chart lost_chart(std::span<const Compared> compared, const std::vector<Bounds>& bounds) {
  Chart chart{.title = fmt::format("The number of keys from which none can have {}", bounds[0].weight_words()),
              .subtitle = "Against how far scores may lie apart. Dashed: theorem 2.2 as published.",
              .id = "compared-lost",
              .figure = "lost"};
  std::vector<std::string> names;
  for (const Bounds& one : bounds)
    for (const Member& member : one.members) add_once(names, member.name);
  const std::vector<Look> looks = looks_of(names);
  chart.curves.push_back({.name = "softmax, published",
                          .look = {Paint::vermillion, kDashed},
                          .marker = Marker::none,
                          .format = kKeys});
  for (std::size_t i = 0; i < names.size(); ++i)
    chart.curves.push_back({.name = names[i], .look = looks[i], .format = kKeys, .code = true});
  std::vector<double> spreads, values{1.0};
  const auto add = [&](Curve& curve, double spread, const std::optional<double>& value) {
    if (!value) return;
    curve.points.push_back({spread, *value});
    values.push_back(*value);
  };
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    spreads.push_back(bounds[i].spread);
    add(chart.curves[0], bounds[i].spread, published_lost(*compared[i].results));
    for (const Member& member : bounds[i].members) {
      const auto name = std::find(names.begin(), names.end(), member.name);
      if (member.loss) add(chart.curves[1 + static_cast<std::size_t>(name - names.begin())], bounds[i].spread, member.loss->lost);
    }
  }
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  for (Curve& curve : chart.curves) {
    std::sort(curve.points.begin(), curve.points.end(), [](const Point& a, const Point& b) { return a.at < b.at; });
    curve.end = size_from_log10(std::log10(std::max(1.0, curve.points.back().value)));
  }
  chart.across = size_axis("spread of scores", spreads);
  chart.up = decade_axis("keys n", values);
  return chart;
}

}  // namespace

void compare_bounds(View& view, std::span<const Compared> compared) {
  std::vector<Bounds> bounds;
  for (const Compared& one : compared) bounds.emplace_back(*one.results);
  std::vector<double> common = bounds[0].sizes;
  for (const Bounds& one : bounds) std::erase_if(common, [&](double n) { return !holds(one.sizes, n); });
  if (common.size() > 4) common.erase(common.begin(), common.end() - 4);
  Table table{.id = "compared-bounds",
              .title = "Bounds",
              .columns = {{.name = "result"}, {.name = "spread", .format = fixed_to(2)}, {.name = "β", .format = fixed_to(2)}},
              .sortable = false};
  for (const double n : common) table.columns.push_back({.name = "most weight at " + short_count(n), .format = kWeight});
  table.columns.push_back({.name = "weight", .format = fixed_to(2)});
  table.columns.push_back({.name = "lost from n", .format = {Format::power}});
  for (const Compared& one : compared) {
    const Json &results = *one.results, &lost = results.at("softmax_lost");
    std::vector<Cell> row{one.named.own, number_at(results, "spread"), number_at(results, "beta")};
    for (const double n : common) {
      Cell cell;
      for (const Json& at : results.at("softmax"))
        if (at.at("n") == n) cell = number_at(at.at("tight"), "high");
      row.push_back(std::move(cell));
    }
    row.insert(row.end(), {number_at(lost, "peak"), number_at(lost, "log10_n")});
    table.rows.push_back(std::move(row));
    table.links.push_back(std::to_string(one.named.number));
  }
  Section section{"compared-spreads", "How sharp softmax can be",
                  "The most that any weight can be when scores lie within the spread, and the size from which no key has the "
                  "named weight.",
                  {{std::move(table)}}, /*brief=*/true};
  if (std::all_of(compared.begin(), compared.end(), [](const Compared& one) { return one.results->at("peak").is_number(); }))
    section.items.insert(section.items.begin(), {lost_chart(compared, bounds)});
  view.sections.push_back(std::move(section));
}

}  // namespace sharpmax::report
