#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kind/audit_charts.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr const char* kKeysSelected = "N, keys selected";

// part: of {mean, median, ...}; the band is of quartiles over heads.
struct Over {
  const char* size;
  const char* spread;
  const char* part = "median";
  bool band = false;
};

Curve over_heads(const Json& points, const Over& what, Curve curve, Format format = fixed_to(3)) {
  curve.format = format;
  for (const Json& point : points) {
    const Json& found = point.at(what.spread);
    const auto value = number_in(found.at(what.part));
    if (!value) continue;
    Point made{point.at(what.size).get<double>(), *value, {}, {}};
    if (what.band)
      made.low = number_in(found.at("lower_quartile")), made.high = number_in(found.at("upper_quartile"));
    curve.points.push_back(made);
  }
  return curve;
}

Curve line(std::string name, Paint paint) {
  return {.name = std::move(name), .look = {paint, ""}};
}

Curve bound(std::string name, Paint paint, std::string_view dash = kDashed) {
  return {.name = std::move(name), .look = {paint, dash}, .marker = Marker::none};
}

// A logarithmic axis has no place for 0 and less; a curve without any other point is none.
void finish_with_decades(Chart& chart, std::string label) {
  std::vector<double> values;
  for (Curve& curve : chart.curves) {
    std::erase_if(curve.points, [](const Point& point) { return !(point.value > 0.0); });
    for (const Point& point : curve.points) values.push_back(point.value);
  }
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  chart.up = decade_axis(std::move(label), values);
}

std::vector<double> sizes_of(const Json& points, const char* size) {
  std::vector<double> sizes;
  for (const Json& point : points) sizes.push_back(point.at(size).get<double>());
  return sizes;
}

std::string vectors_of(const Json& analysis) {
  return analysis.at("vectors") == "values" ? "the heads’ values" : "hidden states before the layer";
}

Chart distance_chart(const Json& analysis, const Json& points, const char* size, std::string title,
                     std::string across) {
  Chart chart{
      .title = std::move(title),
      .subtitle = fmt::format(
          "Vectors: {}. Medians over {}; the band holds half of them. Dashed: what cannot be exceeded.",
          vectors_of(analysis), plural(analysis.at("heads").get<double>(), "head")),
      .across = counts_axis(across, across.substr(0, 1), sizes_of(points, size)),  // L or N
      .up = {}};
  chart.curves = {
      over_heads(points, {size, "chosen_bound"}, bound("most weight, theorem 1.1", Paint::vermillion)),
      over_heads(points, {size, "drawn_bound"}, bound("drawn, bound", Paint::green)),
      over_heads(points, {size, "drawn"}, line("drawn at random", Paint::green)),
      over_heads(points, {size, "chosen", "median", true}, line("most weight", Paint::vermillion)),
  };
  finish_with_decades(chart, "distance");
  return chart;
}

const Json& reading(const Json& analysis, const Json& both) {
  return both.at(analysis.at("distance").get<std::string>());
}

}  // namespace

Chart distance_length_chart(const Json& analysis) {
  const Json& section = analysis.at("distance_length");
  return distance_chart(analysis, reading(analysis, section.at("points")), "length",
                        fmt::format("Distance between what is selected and what is left out, N = {}",
                                    count(section.at("top").get<double>())),
                        "L, tokens");
}

Chart distance_top_chart(const Json& analysis) {
  const Json& section = analysis.at("distance_top");
  return distance_chart(analysis, reading(analysis, section.at("points")), "top",
                        fmt::format("Distance between what is selected and what is left out, L = {}",
                                    count(section.at("length").get<double>())),
                        kKeysSelected);
}

Chart critical_chart(const Json& analysis) {
  const Json& section = analysis.at("critical_top");
  const Json& lines = reading(analysis, section).at("against_drawn");
  Chart chart{
      .title = "When chosen keys cannot be told from drawn ones",
      .subtitle = fmt::format(
          "The Kolmogorov–Smirnov statistic over {}, one curve for each length L. A dot is the critical "
          "N: the first at which p reaches {}.",
          plural(analysis.at("heads").get<double>(), "head"),
          plain_number(section.at("level").get<double>())),
      .up = value_axis("Kolmogorov–Smirnov statistic", 0.0, 1.0)};
  std::vector<double> shares;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double length = lines.at(i).at("length").get<double>();
    const auto critical = number_in(lines.at(i).at("critical"));
    Curve whole{.name = "L = " + count(length),
                .look = {nth_paint(i), ""},
                .marker = Marker::none};
    Curve dot{.name = whole.name + ", critical",
              .look = whole.look,
              .marker = Marker::large_dot,
              .unlisted = true};
    const Json& tops = lines.at(i).at("tops");
    for (std::size_t k = 0; k < tops.size(); ++k) {
      const auto statistic = number_in(lines.at(i).at("statistic").at(k));
      if (!statistic) continue;
      const double top = tops.at(k).get<double>();
      whole.points.push_back({top / length, *statistic});
      shares.push_back(top / length);
      if (critical == top) dot.points.push_back(whole.points.back());
    }
    chart.curves.push_back(std::move(whole));
    if (!dot.points.empty()) chart.curves.push_back(std::move(dot));
  }
  chart.across = size_axis("N / L", shares);
  chart.across.ticks.clear();
  for (const double tick : {0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.3, 1.0})
    if (tick >= chart.across.low && tick <= chart.across.high)
      chart.across.ticks.push_back({tick, plain_number(tick)});
  return chart;
}

Chart separability_chart(const Json& analysis) {
  const Json& points = analysis.at("separability").at("points");
  Chart chart{
      .title = "How many of the selected keys are told apart",
      .subtitle = fmt::format(
          "The share of the N selected keys that are nearer to what was selected than anything left out, "
          "L = {}. Means over heads; the band holds half of them. Dashed: what they cannot fall below.",
          count(analysis.at("separability").at("length").get<double>())),
      .across = counts_axis(kKeysSelected, "N", sizes_of(points, "top")),
      .up = share_axis("share told apart")};
  // Where theorem 2 is 0 or less it says nothing.
  Curve theorem = over_heads(points, {"top", "bound", "mean"}, bound("theorem 2", Paint::grey), {Format::percent});
  std::erase_if(theorem.points, [](const Point& point) { return !(point.value > 0.0); });
  if (!theorem.points.empty()) chart.curves.push_back(std::move(theorem));
  chart.curves.push_back(over_heads(points, {"top", "counted_bound", "mean"},
                                    bound("at least, counted", Paint::green), {Format::percent}));
  chart.curves.push_back(
      over_heads(points, {"top", "share", "mean", true}, line("told apart", Paint::vermillion), {Format::percent}));
  // What paper B reports, from 16 keys on.
  constexpr double kFrom = 16.0, kLow = 0.70, kHigh = 0.85;
  double first = 0.0;
  for (const Point& point : chart.curves.back().points)
    if (first == 0.0 && point.at >= kFrom) first = point.at;
  if (first > 0.0 && first < chart.across.high)
    chart.zones.push_back({"the paper’s range", first, chart.across.high, kLow, kHigh});
  return chart;
}

Chart gradient_chart(const Json& analysis, bool largest) {
  const Json& section = analysis.at("gradient");
  Chart chart{.title = "How much weights move when scores do",
              .subtitle =
                  std::string("The change of the weights over the step ε of the scores, ") +
                  (largest ? "largest over heads of the mean over rows. " : "median over heads of the mean over rows; the band holds half of them. ") +
                  "Dashed: min{1/(2T), √2/ε}, which no row of softmax exceeds. Dotted: the published "
                  "min{1/(4T), √2}.",
              .across = size_axis("temperature T", numbers_in(section.at("temperatures")))};
  chart.across.symbol = "T";
  const Paint paints[] = {Paint::vermillion, Paint::green, Paint::blue, Paint::amber, Paint::purple};
  const Json& steps = section.at("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Paint paint = paints[i % std::size(paints)];
    const std::string name = "ε = " + plain_number(steps.at(i).get<double>());
    Curve most = bound(name + ", at most", paint), published = bound("published", Paint::grey, kDotted);
    Json points = Json::array();
    for (const Json& point : section.at("points")) {
      if (point.at("step") != steps.at(i)) continue;
      const double at = point.at("temperature").get<double>();
      points.push_back(point);
      most.points.push_back({at, point.at("bound").get<double>()});
      published.points.push_back({at, point.at("published_bound").get<double>()});
    }
    chart.curves.push_back(std::move(most));
    chart.curves.push_back(over_heads(points, {"temperature", "g", largest ? "highest" : "median", !largest}, line(name, paint)));
    if (i == 0) chart.curves.push_back(std::move(published));
  }
  finish_with_decades(chart, "change / ε");
  return chart;
}

}  // namespace sharpmax::report
