// What is drawn of max retrieval: curves against the size, and maps of the weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "report/kind/rows.h"

namespace sharpmax::report {

std::vector<std::string> RetrievalRows::main_normalizers() const {
  constexpr std::size_t kFewCurves = 5;
  if (normalizers().size() <= kFewCurves) return normalizers();
  std::vector<std::string> found;
  for (const char* family : {"softmax", "adaptive", "entropy_target", "hard"})
    if (const auto name = member(family)) found.push_back(*name);
  if (found.empty()) found.push_back(normalizers().front());
  return found;
}

std::vector<std::string> RetrievalRows::arms() const {
  std::vector<std::string> names;
  for (const ArmTask& panel : panels()) names.push_back(panel.arm);
  return names;
}

std::optional<std::string> RetrievalRows::paper_arm() const {
  return holds(panels(), ArmTask("paper")) ? std::optional<std::string>("paper") : std::nullopt;
}

std::optional<std::string> RetrievalRows::our_arm() const {
  for (const ArmTask& panel : panels())
    if (panel.arm.starts_with("sharp")) return panel.arm;
  for (const ArmTask& panel : panels())
    if (panel.arm != "paper") return panel.arm;
  return std::nullopt;
}

double RetrievalRows::chance() const {
  const Json& arms = results().at("arms");
  return arms.empty() ? 0.1 : 1.0 / arms.at(0).at("training").at("classes").get<double>();
}

double RetrievalRows::largest_trained() const {
  double most = 0.0;
  for (const Json& arm : results().at("arms")) most = std::max(most, arm.at("training").at("largest_size").get<double>());
  return most;
}

namespace {

Chart chart_over_items(const RetrievalRows& rows, std::string title, std::string subtitle) {
  return {.title = std::move(title),
          .subtitle = std::move(subtitle),
          .across = counts_axis("items in the set", "n", rows.sizes()),
          .up = share_axis("accuracy"),
          .reference = level_line("chance", rows.sizes(), rows.chance())};
}

// Every normalizer. Hard attention is the yardstick: its curve lies below those that come close to it.
void add_curves(Chart& chart, const RetrievalRows& rows, const auto& curve_of_name) {
  std::vector<std::string> names = rows.normalizers();
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return family_of(name) == "hard"; });
  const std::vector<std::string> first = rows.main_normalizers();
  for (const std::string& name : names) {
    chart.curves.push_back(curve_of_name(name));
    chart.curves.back().first = holds(first, name);
  }
  chart.share = "normalizers";
}

// What the paper says of a rule, at sizes that were measured here.
void add_published(Chart& chart, const RetrievalRows& rows) {
  const Json& published = rows.results().at("published");
  std::vector<std::string> families;
  for (const Json& point : published) add_once(families, text_at(point, "normalizer"));
  for (const std::string& family : families) {
    const auto normalizer = rows.member(family);
    if (!normalizer) continue;
    Curve curve{.name = family + ", published", .look = {rows.look(*normalizer).paint, kDotted}, .marker = Marker::ring,
                .format = kShare, .of = *normalizer};
    for (const Json& point : published)
      if (const double n = point.at("n").get<double>(); point.at("normalizer") == family && holds(rows.sizes(), n))
        curve.points.push_back({n, point.at("accuracy").get<double>()});
    std::sort(curve.points.begin(), curve.points.end(), [](const Point& a, const Point& b) { return a.at < b.at; });
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
}

}  // namespace

Chart accuracy_chart(const RetrievalRows& rows, const std::string& arm) {
  Chart chart = chart_over_items(rows, fmt::format("Accuracy against size, {} training", arm), "");
  add_published(chart, rows);
  chart.subtitle = fmt::format("How often the head names the class of the largest of n items, trained on at most {}. Bands are 95\u00a0% "
                               "intervals{}.",
                               count(rows.largest_trained()), chart.curves.empty() ? "" : "; dotted: published");
  add_curves(chart, rows, [&](const std::string& name) { return accuracy_curve(rows, arm, name); });
  return chart;
}

Chart entropy_chart(const RetrievalRows& rows, const std::string& arm) {
  Chart chart = chart_over_items(rows, fmt::format("Entropy against size, {} training", arm),
                                 "The mean entropy of the weights: 0 is all weight on one item, ln n an equal share for each.");
  add_curves(chart, rows, [&](const std::string& name) { return curve_of(rows, arm, name, "entropy", fixed_to(2)); });
  double most = chart.across.high > 1.0 ? std::log(chart.across.high) : 1.0;
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) most = std::max(most, point.value);
  chart.up = value_axis("entropy, nats", 0.0, 1.05 * most);
  chart.reference = equal_weights_line(rows.sizes());
  return chart;
}

Chart two_by_two_chart(const RetrievalRows& rows) {
  Chart chart = chart_over_items(
      rows, fmt::format("Trained on at most {} items: how often the right one is found", count(rows.largest_trained())),
      "Two trainings under two rules, the same test sets for all four. Bands are 95\u00a0% intervals; dashed: the paper’s training.");
  const auto paper = rows.paper_arm(), ours = rows.our_arm();
  const auto plain = rows.member("softmax"), sharp = rows.member("entropy_target");
  if (!paper || !ours || !plain || !sharp) return chart;
  for (const std::string& arm : {*paper, *ours})
    for (const std::string& rule : {*plain, *sharp}) {
      Curve curve = accuracy_curve(rows, arm, rule);
      curve.name = fmt::format("{}, {}", arm == *paper ? "paper’s training" : "our training", family_of(rule));
      curve.code = false;
      if (arm == *paper) curve.look.dash = kDashed, curve.marker = Marker::ring;
      if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
    }
  if (chart.curves.size() < 4) chart.curves.clear();
  return chart;
}

namespace {

using Pair = std::pair<std::string, std::string>;  // arm, normalizer

constexpr std::size_t kMostLines = 6;

// Of the first seed of each arm.
std::vector<std::pair<Pair, std::vector<const Json*>>> lines_of(const Json& results) {
  std::map<std::string, std::uint64_t> first_seed;
  std::vector<std::pair<Pair, std::vector<const Json*>>> lines;
  for (const Json& map : results.at("heat_maps")) {
    const Pair pair{text_at(map, "arm"), text_at(map, "normalizer")};
    const auto seed = map.at("seed").get<std::uint64_t>();
    if (first_seed.try_emplace(pair.first, seed).first->second != seed) continue;
    auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == pair; });
    if (found == lines.end()) found = lines.insert(lines.end(), {pair, {}});
    found->second.push_back(&map);
  }
  for (auto& [pair, maps] : lines)
    std::stable_sort(maps.begin(), maps.end(),
                     [](const Json* a, const Json* b) { return a->at("n").get<double>() < b->at("n").get<double>(); });
  return lines;
}

Panel panel_of(const Json& map) {
  Panel panel{.name = short_count(map.at("n").get<double>())};
  double on_largest = 0.0;
  bool whole = true;
  for (const Json& set : map.at("weights")) {
    auto& line = panel.weights.emplace_back();
    std::optional<double> last;
    for (const Json& weight : set) {
      last = number_in(weight);
      line.push_back(last);
    }
    whole = whole && last.has_value();
    on_largest += last.value_or(0.0);
  }
  if (whole && !panel.weights.empty()) panel.below = on_largest / static_cast<double>(panel.weights.size());
  return panel;
}

PanelLine panel_line(const Pair& pair, const std::vector<const Json*>& maps) {
  PanelLine line{.name = fmt::format("{} training, {}", pair.first, pair.second)};
  for (const Json* map : maps) line.panels.push_back(panel_of(*map));
  return line;
}

// Softmax and entropy_target of every arm, or the first line where there is neither.
bool is_of_the_story(const RetrievalRows& rows, const Pair& pair, bool first) {
  const auto plain = rows.member("softmax"), sharp = rows.member("entropy_target");
  return pair.second == plain || pair.second == sharp || (!plain && !sharp && first);
}

}  // namespace

HeatMaps heat_maps_of(const RetrievalRows& rows) {
  HeatMaps maps{.title = "Where the weight goes: each line a set, its largest item at the right",
                .subtitle = "One panel is one size n. Below: the mean weight on the largest item, over the sets shown.",
                .ramp = {"weight 0", "1, by its square root"},
                .id = "heat-maps",
                .figure = "heat-maps"};
  std::size_t told = 0;
  for (const auto& [pair, panels] : lines_of(rows.results())) {
    maps.lines.push_back(panel_line(pair, panels));
    if (told < kMostLines && is_of_the_story(rows, pair, maps.lines.size() == 1))
      ++told;
    else
      maps.lines.back().spare = 3;
  }
  return maps;
}

}  // namespace sharpmax::report
