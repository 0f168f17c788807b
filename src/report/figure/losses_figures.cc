#include <fmt/format.h>

#include <algorithm>

#include "report/view/axes.h"
#include "report/view/format.h"
#include "report/figure/drawings.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

struct Reader {
  std::string model, normalizer;
};

Reader reader_of(const Json& results) {
  const Json& model = results.at("settings").at("model");
  return {file_name(model.at("file").get<std::string>()), model.at("normalizer").is_string()
                                                              ? model.at("normalizer").get<std::string>()
                                                              : "normalizers by head"};
}

// By what tells the curves apart.
std::vector<std::string> names_of(std::span<const Reader> readers) {
  const auto all_same = [&](std::string Reader::*part) {
    return std::all_of(readers.begin(), readers.end(),
                       [&](const Reader& one) { return one.*part == readers[0].*part; });
  };
  std::vector<std::string> names;
  for (const Reader& one : readers) {
    if (all_same(&Reader::model))
      names.push_back(one.normalizer);
    else if (all_same(&Reader::normalizer))
      names.push_back(one.model);
    else
      names.push_back(fmt::format("{}, {}", one.model, one.normalizer));
  }
  return names;
}

}  // namespace

Axis loss_axis(const std::vector<Curve>& curves) {
  double low = 0.0, high = 0.0;
  bool any = false;
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) {
      const double least = point.low.value_or(point.value), most = point.high.value_or(point.value);
      low = any ? std::min(low, least) : least;
      high = any ? std::max(high, most) : most;
      any = true;
    }
  const double room = high > low ? 0.08 * (high - low) : 0.5;
  return value_axis("loss, nats a token", low - room, high + room);
}

Chart loss_chart(std::span<const Json> results) {
  Chart chart{.title = "Loss by position",
              .subtitle = "Nats a token, by how many tokens stand before it. Bands are 95\u00a0% intervals.",
              .across = {},
              .up = {},
              .curves = {}};
  std::vector<Reader> readers;
  for (const Json& one : results) readers.push_back(reader_of(one));
  const std::vector<std::string> names = names_of(readers);
  if (readers.size() == 1) chart.title += ": " + readers[0].model;
  std::vector<double> sizes;
  const Paint paints[] = {Paint::vermillion, Paint::green, Paint::blue, Paint::amber, Paint::purple};
  for (std::size_t i = 0; i < results.size(); ++i) {
    Curve curve{.name = names[i], .look = {paints[i % std::size(paints)], ""}, .points = {}, .end = {}};
    const double longest = results[i].at("settings").at("length").get<double>();
    if (!results[i].contains("buckets")) continue;  // interrupted before anything was read
    for (const Json& bucket : results[i].at("buckets")) {
      const auto loss = number_in(bucket.at("loss"));
      if (!loss) continue;
      curve.points.push_back({std::min(bucket.at("to").get<double>(), longest), *loss,
                              number_in(bucket.at("low")), number_in(bucket.at("high"))});
      curve.end = decimal(*loss, 3);
      sizes.push_back(curve.points.back().at);
    }
    chart.curves.push_back(std::move(curve));
  }
  chart.across = size_axis(kTokensBefore, sizes);
  chart.up = loss_axis(chart.curves);
  return chart;
}

std::vector<Figure> losses_figures(const Json& results) {
  Gathered gathered;
  gathered.add("by-position", loss_chart(std::span(&results, 1)));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
