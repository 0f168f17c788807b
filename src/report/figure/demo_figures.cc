#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/view/axes.h"
#include "report/view/format.h"
#include "report/view/looks.h"
#include "report/figure/figures.h"
#include "report/figure/gathered.h"
#include "report/figure/values.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFew = 8;
constexpr std::string_view kMain[] = {"softmax",     "adaptive", "entropy_target",
                                      "peak_target", "softpick", "hard"};

struct Demo {
  std::vector<std::string> normalizers;
  std::vector<Look> looks;
  std::vector<double> sizes;
};

Demo demo_of(const Json& results) {
  Demo demo;
  for (const Json& row : results.at("rows")) {
    add_once(demo.normalizers, row.at("normalizer").get<std::string>());
    add_once(demo.sizes, row.at("n").get<double>());
  }
  if (demo.normalizers.size() > kFew)
    std::erase_if(demo.normalizers, [](const std::string& name) {
      return std::find(std::begin(kMain), std::end(kMain), family_of(name)) == std::end(kMain);
    });
  demo.looks = looks_of(demo.normalizers);
  return demo;
}

Chart chart_of(const Json& results, const Demo& demo, const char* field, std::string (*words)(double)) {
  Chart chart{.title = {}, .subtitle = {}, .across = size_axis("keys n", demo.sizes), .up = {}, .curves = {}};
  for (std::size_t i = 0; i < demo.normalizers.size(); ++i) {
    Curve curve{.name = demo.normalizers[i], .look = demo.looks[i], .points = {}, .end = {}};
    for (const Json& row : results.at("rows")) {
      const auto value = number_in(row.at(field));
      if (row.at("normalizer") != demo.normalizers[i] || !value) continue;
      curve.points.push_back({row.at("n").get<double>(), *value, {}, {}});
    }
    std::sort(curve.points.begin(), curve.points.end(),
              [](const Point& a, const Point& b) { return a.at < b.at; });
    if (curve.points.empty()) continue;
    curve.end = words(curve.points.back().value);
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

std::string nats_text(double value) { return decimal(value, 2); }

Chart needle_chart(const Json& results, const Demo& demo) {
  Chart chart = chart_of(results, demo, "needle_share", percent);
  chart.title = "Weight on one needle of fixed score, as keys are added";
  chart.subtitle =
      fmt::format("Its score is {}; the scores of all others are drawn with mean 0 and deviation 1.",
                  plain_number(results.at("gap").get<double>()));
  chart.up = share_axis("share of the weight");
  return chart;
}

Chart entropy_chart(const Json& results, const Demo& demo) {
  Chart chart = chart_of(results, demo, "entropy", nats_text);
  chart.title = "Entropy of the weights, as keys are added";
  chart.subtitle = "0 is all weight on one key, ln n an equal share for each.";
  double most = std::log(std::max(2.0, chart.across.high));
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) most = std::max(most, point.value);
  chart.up = value_axis("entropy, nats", 0.0, 1.05 * most);
  chart.reference = Reference{.name = "ln n: equal weights", .points = {}, .rising = true};
  for (const Tick& tick : chart.across.ticks)
    chart.reference->points.push_back({tick.at, std::log(tick.at), {}, {}});
  return chart;
}

}  // namespace

std::vector<Figure> demo_figures(const Json& results) {
  const Demo demo = demo_of(results);
  Gathered gathered;
  gathered.add("share", needle_chart(results, demo));
  gathered.add("entropy", entropy_chart(results, demo));
  return std::move(gathered).figures();
}

}  // namespace sharpmax::report
