#include <fmt/format.h>

#include "report/figure/bound_drawings.h"
#include "report/figure/drawing/bars.h"
#include "report/figure/drawing/words.h"
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

}  // namespace sharpmax::report
