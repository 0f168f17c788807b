#include <fmt/format.h>

#include <optional>

#include "report/figure/audit_drawings.h"
#include "report/figure/drawing/words.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTokens = "tokens";

// values: one for each size, null where there is none.
Curve curve_over(const Json& sizes, const Json& values, Curve curve, std::string (*words)(double)) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto value = number_in(values.at(i));
    if (!value) continue;
    curve.points.push_back({sizes.at(i).get<double>(), *value, {}, {}});
    curve.end = words(*value);
  }
  return curve;
}

Curve named(std::string name, Look look, Marker marker = Marker::dot) {
  return {.name = std::move(name), .look = look, .points = {}, .marker = marker, .end = {}};
}

std::string two_digits(double value) { return decimal(value, 2); }

std::vector<Mark> trained_mark(const Json& attention) {
  const auto trained = number_in(attention.at("trained_context"));
  return trained ? std::vector<Mark>{{*trained, "trained length"}} : std::vector<Mark>{};
}

Curve blunt_curve(const Json& attention, Curve curve) {
  Json shares = Json::array();
  for (const Json& blunt : attention.at("blunt_heads"))
    shares.push_back(blunt.get<double>() / static_cast<double>(attention.at("heads").size()));
  return curve_over(attention.at("lengths"), shares, std::move(curve), percent);
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
      named(fmt::format("weight, head {}.{}", layer, head), {Paint::green, "9 4"}, Marker::ring), percent);
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

Chart blunt_chart_of(std::span<const Json> audits) {
  Chart chart{.title = "How many heads are blunt, by length",
              .subtitle = "Blunt: a median peak outside the first token below the audit’s threshold.",
              .across = {},
              .up = share_axis("heads that are blunt"),
              .curves = {}};
  std::vector<double> lengths;
  const Paint paints[] = {Paint::vermillion, Paint::green, Paint::blue, Paint::amber, Paint::purple};
  for (std::size_t i = 0; i < audits.size(); ++i) {
    if (!audits[i].contains("attention")) continue;
    const Json& attention = audits[i].at("attention");
    if (attention.at("heads").empty()) continue;
    const Json& model = audits[i].at("settings").at("model");
    std::string name = fmt::format("{}: {}", i + 1, file_name(model.at("file").get<std::string>()));
    for (const double length : numbers_in(attention.at("lengths"))) lengths.push_back(length);
    chart.curves.push_back(
        blunt_curve(attention, named(std::move(name), {paints[i % std::size(paints)], ""})));
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
      curve_over(lengths, medians.at("peak"), named("peak", {Paint::grey, ""}), two_digits),
      curve_over(lengths, medians.at("first"), named("first token", {Paint::purple, ""}), two_digits),
      curve_over(lengths, medians.at("peak_outside"), named("peak outside", {Paint::vermillion, ""}),
                 two_digits)};
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
  for (const Json& at : probe.at("lengths")) {
    const double share = at.at("share").get<double>();
    right.points.push_back(
        {at.at("length").get<double>(), share, number_in(at.at("low")), number_in(at.at("high"))});
    right.end = percent(share);
  }
  chart.curves.push_back(std::move(right));
  return chart;
}

}  // namespace sharpmax::report
