#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg/drawn.h"
#include "report/view/axes.h"
#include "report/view/format.h"
#include "report/view/looks.h"
#include "report/figure/drawings.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> names_in(const Json& results) {
  std::vector<std::string> names;
  for (const Json& entry : results.at("normalizers"))
    names.push_back(entry.at("normalizer").get<std::string>());
  return names;
}

std::string title_of(const Json& results) {
  return fmt::format("The largest weight that one of n keys can have, scores at most {} apart",
                     plain_number(results.at("spread").get<double>()));
}

// Where the published form says more than 1 it says nothing.
Curve published_curve(const Json& results) {
  Curve curve{.name = "lemma 2.1 as published",
              .look = {Paint::vermillion, kDashed},
              .points = {},
              .marker = Marker::none,
              .end = {}};
  for (const Json& row : results.at("softmax")) {
    const auto high = number_in(row.at("published").at("high"));
    if (!high || *high > 1.0) continue;
    curve.points.push_back({row.at("n").get<double>(), *high, {}, {}});
    curve.end = percent(*high);
  }
  return curve;
}

}  // namespace

Chart peak_chart(const Json& results) {
  Chart chart{.title = title_of(results),
              .subtitle = "Of any input whatever. A curve that falls is a rule that must lose its peak.",
              .across = {},
              .up = share_axis("largest share of the weight"),
              .curves = {}};
  if (Curve published = published_curve(results); !published.points.empty())
    chart.curves.push_back(std::move(published));
  const std::vector<std::string> names = names_in(results);
  const std::vector<Look> looks = looks_of(names);
  std::vector<double> sizes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Curve curve{.name = names[i], .look = looks[i], .points = {}, .end = {}};
    for (const Json& range : results.at("normalizers").at(i).at("ranges")) {
      const auto high = number_in(range.at("share").at("high"));
      if (!high) continue;
      curve.points.push_back({range.at("n").get<double>(), *high, {}, {}});
      sizes.push_back(curve.points.back().at);
      curve.end = percent(*high);
    }
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  chart.across = size_axis("keys n", sizes);
  return chart;
}

std::string peak_bars(const Json& results) {
  Bars bars{.title = title_of(results),
            .subtitle = {},
            .described = {},
            .legend = {},
            .across = share_axis("largest share of the weight"),
            .beside = {"at most", "at least"},
            .bars = {},
            .mark = {}};
  const std::vector<std::string> names = names_in(results);
  const std::vector<Look> looks = looks_of(names);
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const Json& range : results.at("normalizers").at(i).at("ranges")) {
      const auto high = number_in(range.at("share").at("high")), low = number_in(range.at("share").at("low"));
      if (!high || !low) continue;
      bars.subtitle = fmt::format("n = {}. Of any input whatever.", count(range.at("n").get<double>()));
      bars.bars.push_back({.name = names[i],
                           .pieces = {{*high, looks[i].paint}},
                           .beside = {percent(*high), percent(*low)},
                           .low = {},
                           .high = {}});
      bars.described += fmt::format("{} at most {}. ", names[i], percent(*high));
    }
  return drawn(bars);
}

namespace {

constexpr double kMostLog10 = 300.0;  // what a number can hold

// A rule for which nothing is known has no loss.
bool is_known(const Json& entry) { return entry.contains("loss") && !entry.at("loss").is_null(); }

// Keys from which the weight is out of reach; none where it never is.
std::optional<double> lost_in(const Json& entry) {
  return is_known(entry) ? number_in(entry.at("loss").at("lost")) : std::nullopt;
}

bool is_asked(const Json& results) { return results.contains("peak") && results.at("peak").is_number(); }

std::string weight_of(const Json& results) {
  const double peak = results.at("peak").get<double>();
  return peak == 0.5 ? "half of the weight" : fmt::format("{} of the weight", percent(peak));
}

std::optional<double> published_in(const Json& results) {
  if (!results.contains("softmax_lost") || results.at("softmax_lost").is_null()) return std::nullopt;
  const auto log10 = number_in(results.at("softmax_lost").at("log10_n_published"));
  return log10 && *log10 < kMostLog10 ? std::optional(std::pow(10.0, *log10)) : std::nullopt;
}

}  // namespace

std::string lost_bars(const Json& results) {
  if (!is_asked(results)) return "";
  Bars bars{.title = fmt::format("The number of keys from which none can have {}", weight_of(results)),
            .subtitle =
                fmt::format("Scores at most {} apart. Rules without a bar can have it at any number of keys.",
                            plain_number(results.at("spread").get<double>())),
            .described = {},
            .legend = {},
            .across = {},
            .beside = {"keys"},
            .bars = {},
            .mark = {}};
  std::vector<std::string> names;
  for (const Json& entry : results.at("normalizers"))
    names.push_back(entry.at("normalizer").get<std::string>());
  const std::vector<Look> looks = looks_of(names);
  std::vector<double> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_known(results.at("normalizers").at(i))) continue;
    const auto lost = lost_in(results.at("normalizers").at(i));
    Bar bar{.name = names[i], .pieces = {}, .beside = {lost ? count(*lost) : "never"}, .low = {}, .high = {}};
    if (lost) bar.pieces.push_back({*lost, looks[i].paint}), values.push_back(*lost);
    bars.described += fmt::format("{}: {}. ", names[i], bar.beside[0]);
    bars.bars.push_back(std::move(bar));
  }
  if (values.empty()) return "";
  values.push_back(1.0);
  bars.across = decade_axis("keys n", values);
  return drawn(bars);
}

Chart lost_chart(std::span<const Json> results) {
  Chart chart{.title = {}, .subtitle = {}, .across = {}, .up = {}, .curves = {}};
  if (results.empty() || !std::all_of(results.begin(), results.end(), is_asked)) return chart;
  chart.title = fmt::format("The number of keys from which none can have {}", weight_of(results[0]));
  chart.subtitle = "Against how far scores may lie apart. Dashed: theorem 2.2 as published.";
  std::vector<std::string> names;
  for (const Json& one : results)
    for (const Json& entry : one.at("normalizers"))
      add_once(names, entry.at("normalizer").get<std::string>());
  const std::vector<Look> looks = looks_of(names);
  chart.curves.push_back({.name = "softmax, published",
                          .look = {Paint::vermillion, kDashed},
                          .points = {},
                          .marker = Marker::none,
                          .end = {}});
  for (std::size_t i = 0; i < names.size(); ++i)
    chart.curves.push_back({.name = names[i], .look = looks[i], .points = {}, .end = {}});
  std::vector<double> spreads, values{1.0};
  const auto add = [&](Curve& curve, double spread, const std::optional<double>& value) {
    if (!value) return;
    curve.points.push_back({spread, *value, {}, {}});
    values.push_back(*value);
  };
  for (const Json& one : results) {
    const double spread = one.at("spread").get<double>();
    spreads.push_back(spread);
    add(chart.curves[0], spread, published_in(one));
    for (const Json& entry : one.at("normalizers")) {
      const auto name = std::find(names.begin(), names.end(), entry.at("normalizer").get<std::string>());
      add(chart.curves[1 + static_cast<std::size_t>(name - names.begin())], spread, lost_in(entry));
    }
  }
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  for (Curve& curve : chart.curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const Point& a, const Point& b) { return a.at < b.at; });
    curve.end = size_from_log10(std::log10(std::max(1.0, curve.points.back().value)));
  }
  chart.across = size_axis("spread of scores", spreads);
  chart.up = decade_axis("keys n", values);
  return chart;
}

std::vector<Figure> bound_figures(const nlohmann::ordered_json& results) {
  Gathered gathered;
  const Chart peaks = peak_chart(results);
  if (peaks.across.low < peaks.across.high)
    gathered.add("peak", peaks);
  else
    gathered.add("peak", peak_bars(results));
  gathered.add("lost", lost_bars(results));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
