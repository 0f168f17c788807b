#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/kind/audit_charts.h"
#include "report/view/axes.h"
#include "report/view/format.h"

namespace sharpmax::report {
namespace {

GridCell cell_of(const Json& head) {
  return {.layer = head.at("layer").get<double>(), .head = head.at("head").get<double>(), .value = {}};
}

double longest(const Json& attention) { return last_of(attention.at("lengths")).get<double>(); }

std::string blunt_sentence(const Json& attention) {
  return fmt::format("{} of {} blunt: median peak below {}.",
                     count(last_of(attention.at("blunt_heads")).get<double>()),
                     plural(static_cast<double>(attention.at("heads").size()), "head"),
                     plain_number(attention.at("thresholds").at("blunt").get<double>()));
}

}  // namespace

Grid peak_grid(const Json& attention) {
  Grid grid{.title = {},
                .subtitle = {},
                .described = {},
                .ramp = {"0", "1, by its square root"},
                .unknown = {},
                .cells = {}};
  if (attention.at("lengths").empty()) return grid;
  grid.title = fmt::format("Every head at {} tokens: the largest weight outside the first token",
                           count(longest(attention)));
  grid.subtitle =
      "One cell is one head, coloured by its median over rows. Dark heads spread their weight thin. " +
      blunt_sentence(attention);
  grid.described = blunt_sentence(attention);
  for (const Json& head : attention.at("heads")) {
    GridCell cell = cell_of(head);
    cell.value = number_in(last_of(head.at("peak_outside").at("median")));
    cell.share = std::sqrt(std::max(0.0, cell.value.value_or(0.0)));
    if (!cell.value) grid.unknown = "not measured";
    grid.cells.push_back(cell);
  }
  return grid;
}

Grid blunting_grid(const Json& attention) {
  Grid grid{.title = "The length at which each head goes blunt, measured or foreseen",
                .subtitle =
                    "Where the median peak outside the first token falls below the threshold. Dark: soon; "
                    "bright: late.",
                .described = {},
                .ramp = {},
                .unknown = {},
                .cells = {}};
  if (attention.at("lengths").empty()) return grid;
  // Eight times the greatest length is as far as a forecast is worth telling apart.
  const double least = attention.at("lengths").at(0).get<double>(), most = 8.0 * longest(attention);
  grid.ramp = {count(least), fmt::format("{} tokens and more", count(most))};
  double known = 0.0;
  for (const Json& head : attention.at("heads")) {
    GridCell cell = cell_of(head);
    cell.value = number_in(head.at("blunting").at("length"));
    if (cell.value) {
      known += 1.0;
      cell.share =
          most > least ? std::log(std::max(least, *cell.value) / least) / std::log(most / least) : 1.0;
    } else {
      grid.unknown = "none foreseen";
    }
    grid.cells.push_back(cell);
  }
  grid.described = fmt::format("{} of {} go blunt or are foreseen to.", count(known),
                               plural(static_cast<double>(grid.cells.size()), "head"));
  return grid;
}

namespace {

constexpr const char* kTokens = "tokens";

// values: one for each size, null where there is none.
Curve curve_over(const Json& sizes, const Json& values, Curve curve, Format format) {
  curve.format = format;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto value = number_in(values.at(i));
    if (!value) continue;
    curve.points.push_back({sizes.at(i).get<double>(), *value, {}, {}});
  }
  return curve;
}

Curve named(std::string name, Look look, Marker marker = Marker::dot) {
  return {.name = std::move(name), .look = look, .points = {}, .marker = marker, .end = {}};
}

std::vector<Mark> trained_mark(const Json& attention) {
  const auto trained = number_in(attention.at("trained_context"));
  return trained ? std::vector<Mark>{{*trained, "trained length"}} : std::vector<Mark>{};
}

Curve blunt_curve(const Json& attention, Curve curve) {
  Json shares = Json::array();
  for (const Json& blunt : attention.at("blunt_heads"))
    shares.push_back(blunt.get<double>() / static_cast<double>(attention.at("heads").size()));
  return curve_over(attention.at("lengths"), shares, std::move(curve), {Format::percent});
}

// The head that looks best at the longest length, at every length.
std::optional<Curve> followed(const Json& probe, const Json& sizes) {
  const Json& lengths = probe.at("lengths");
  if (last_of(lengths).at("best_heads").empty()) return std::nullopt;
  const Json& best = last_of(lengths).at("best_heads").at(0);
  const auto layer = best.at("layer").get<std::size_t>(), head = best.at("head").get<std::size_t>();
  const std::size_t place = layer * probe.at("heads").get<std::size_t>() + head;
  Json weights = Json::array();
  for (const Json& at : lengths) weights.push_back(at.at("answering_weight").at(place));
  return curve_over(
      sizes, weights,
      named(fmt::format("weight, head {}.{}", layer, head), {Paint::green, "9 4"}, Marker::ring), {Format::percent});
}

}  // namespace

Chart blunt_chart(const Json& attention) {
  const Json& lengths = attention.at("lengths");
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = fmt::format("Of {}. Blunt: a median peak outside the first token below {}.",
                                      plural(static_cast<double>(attention.at("heads").size()), "head"),
                                      plain_number(attention.at("thresholds").at("blunt").get<double>())),
              .across = size_axis(kTokens, numbers_in(lengths)),
              .up = share_axis("heads that are blunt"),
              .curves = {},
              .reference = {},
              .marks = trained_mark(attention)};
  if (lengths.size() > 1 && !attention.at("heads").empty())
    chart.curves.push_back(blunt_curve(attention, named("blunt heads", {Paint::vermillion, ""})));
  return chart;
}

Chart blunt_chart_of(std::span<const Compared> audits) {
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = "Blunt: a median peak outside the first token below the audit’s threshold.",
              .across = {},
              .up = share_axis("heads that are blunt"),
              .curves = {},
              .id = "compared-blunt-chart",
              .figure = "by-length"};
  std::vector<double> lengths;
  for (const Compared& one : audits) {
    const Json& attention = one.results->at("attention");
    if (attention.at("heads").empty()) continue;
    for (const double length : numbers_in(attention.at("lengths"))) lengths.push_back(length);
    chart.curves.push_back(blunt_curve(attention, named(one.named.own, one.named.look)));
  }
  chart.across = size_axis(kTokens, lengths);
  return chart;
}

Chart median_chart(const Json& attention) {
  const Json& lengths = attention.at("lengths");
  const Json& medians = attention.at("median_over_heads");
  Chart chart{
      .title = "The median head, by length",
      .subtitle =
          "Medians over heads of the medians over rows. “Outside” leaves the first token out, on which many "
          "heads park their weight.",
      .across = size_axis(kTokens, numbers_in(lengths)),
      .up = share_axis("weight"),
      .curves = {},
      .reference = {},
      .marks = trained_mark(attention)};
  chart.curves = {
      curve_over(lengths, medians.at("peak"), named("peak", {Paint::grey, ""}), fixed_to(2)),
      curve_over(lengths, medians.at("first"), named("first token", {Paint::purple, ""}), fixed_to(2)),
      curve_over(lengths, medians.at("peak_outside"), named("peak outside", {Paint::vermillion, ""}),
                 fixed_to(2))};
  return chart;
}

Chart probe_chart(const Json& probe) {
  Json sizes = Json::array();
  for (const Json& at : probe.at("lengths")) sizes.push_back(at.at("length"));
  Chart chart{
      .title = fmt::format("Questions with known answers: probe “{}”", probe.at("kind").get<std::string>()),
      .subtitle =
          "How often the greedy answer matches, with 95\u00a0% intervals, and how much weight goes from the "
          "tokens "
          "of the right answer to the item that holds it, in the head that looks best.",
      .across = size_axis(kTokens, numbers_in(sizes)),
      .up = share_axis("share"),
      .curves = {}};
  if (sizes.empty()) return chart;
  if (auto curve = followed(probe, sizes)) chart.curves.push_back(std::move(*curve));
  Curve right = named("right answers", {Paint::vermillion, ""});
  right.format = {Format::percent};
  for (const Json& at : probe.at("lengths")) {
    const double share = at.at("share").get<double>();
    right.points.push_back(
        {at.at("length").get<double>(), share, number_in(at.at("low")), number_in(at.at("high"))});
  }
  chart.curves.push_back(std::move(right));
  return chart;
}

}  // namespace sharpmax::report
