#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/kind/audit_charts.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

// values: one for each size, null where there is none.
Curve curve_over(const Json& sizes, const Json& values, Curve curve, Format format) {
  curve.format = format;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto value = number_in(values.at(i));
    if (!value) continue;
    curve.points.push_back({sizes.at(i).get<double>(), *value});
  }
  return curve;
}

Curve named(std::string name, Look look, Marker marker = Marker::dot) {
  return {.name = std::move(name), .look = look, .marker = marker};
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

std::vector<Mark> trained_mark(const Json& attention) {
  const auto trained = number_in(attention.at("trained_context"));
  return trained ? std::vector<Mark>{{*trained, "trained length"}} : std::vector<Mark>{};
}

Chart blunt_chart(const Json& attention) {
  const Json& lengths = attention.at("lengths");
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = fmt::format("Of {}. Blunt: a median peak outside the first token below {}.",
                                      plural(static_cast<double>(attention.at("heads").size()), "head"),
                                      plain_number(attention.at("thresholds").at("blunt").get<double>())),
              .across = tokens_axis(numbers_in(lengths)),
              .up = share_axis("heads that are blunt"),
              .marks = trained_mark(attention)};
  if (lengths.size() > 1 && !attention.at("heads").empty())
    chart.curves.push_back(blunt_curve(attention, named("blunt heads", {Paint::vermillion, ""})));
  return chart;
}

Chart blunt_chart_of(std::span<const Compared> audits) {
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = "Blunt: a median peak outside the first token below the audit’s threshold.",
              .up = share_axis("heads that are blunt"),
              .id = "compared-blunt-chart",
              .figure = "by-length"};
  std::vector<double> lengths;
  for (const Compared& one : audits) {
    const Json& attention = one.results->at("attention");
    if (attention.at("heads").empty()) continue;
    for (const double length : numbers_in(attention.at("lengths"))) lengths.push_back(length);
    chart.curves.push_back(blunt_curve(attention, named(one.named.own, one.named.look)));
  }
  chart.across = tokens_axis(lengths);
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
      .across = tokens_axis(numbers_in(lengths)),
      .up = share_axis("weight"),
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
      .across = tokens_axis(numbers_in(sizes)),
      .up = share_axis("share")};
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
