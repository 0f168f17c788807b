#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kind/retrieval_rows.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr std::size_t kFewCurves = 5;
constexpr std::string_view kMainCurves[] = {"softmax", "adaptive", "entropy_target", "hard"};

}  // namespace

RetrievalRows::RetrievalRows(const Json& results) : results_(results) {
  for (const Json& row : results.at("summary")) {
    add_once(arms_, row.at("arm").get<std::string>());
    add_once(normalizers_, row.at("normalizer").get<std::string>());
    add_once(sizes_, row.at("n").get<double>());
  }
  std::sort(sizes_.begin(), sizes_.end());
  looks_ = looks_of(normalizers_);
}

std::optional<std::string> RetrievalRows::member(std::string_view family) const {
  for (const std::string& name : normalizers_)
    if (family_of(name) == family) return name;
  return std::nullopt;
}

Look RetrievalRows::look(const std::string& normalizer) const {
  const auto found = std::find(normalizers_.begin(), normalizers_.end(), normalizer);
  return looks_[static_cast<std::size_t>(found - normalizers_.begin())];
}

const Json* RetrievalRows::row(const std::string& arm, const std::string& normalizer, double n) const {
  for (const Json& row : results_.at("summary"))
    if (row.at("n") == n && row.at("arm") == arm && row.at("normalizer") == normalizer) return &row;
  return nullptr;
}

std::vector<const Json*> RetrievalRows::rows(const std::string& arm, const std::string& normalizer) const {
  std::vector<const Json*> found;
  for (const Json& row : results_.at("summary"))
    if (row.at("arm") == arm && row.at("normalizer") == normalizer) found.push_back(&row);
  std::stable_sort(found.begin(), found.end(), [](const Json* a, const Json* b) {
    return a->at("n").get<double>() < b->at("n").get<double>();
  });
  return found;
}

std::vector<std::string> RetrievalRows::main_normalizers() const {
  if (normalizers_.size() <= kFewCurves) return normalizers_;
  std::vector<std::string> found;
  for (const std::string_view family : kMainCurves)
    if (const auto name = member(family)) found.push_back(*name);
  if (found.empty()) found.push_back(normalizers_.front());
  return found;
}

std::optional<std::string> RetrievalRows::paper_arm() const {
  if (holds(arms_, std::string("paper"))) return "paper";
  return std::nullopt;
}

std::optional<std::string> RetrievalRows::our_arm() const {
  for (const std::string& arm : arms_)
    if (arm.starts_with("sharp")) return arm;
  for (const std::string& arm : arms_)
    if (arm != "paper") return arm;
  return std::nullopt;
}

double RetrievalRows::chance() const {
  const Json& arms = results_.at("arms");
  return arms.empty() ? 0.1 : 1.0 / arms.at(0).at("training").at("classes").get<double>();
}

double RetrievalRows::largest_trained() const {
  double most = 0.0;
  for (const Json& arm : results_.at("arms"))
    most = std::max(most, arm.at("training").at("largest_size").get<double>());
  return most;
}

Curve accuracy_curve(const RetrievalRows& rows, const std::string& arm, const std::string& normalizer) {
  Curve curve{.name = normalizer, .look = rows.look(normalizer), .format = {Format::percent}, .code = true};
  for (const Json* row : rows.rows(arm, normalizer))
    if (const auto value = number_at(*row, "accuracy"))
      curve.points.push_back({size_at(*row, "n"), *value, number_at(*row, "accuracy_low"), number_at(*row, "accuracy_high")});
  return curve;
}

Curve entropy_curve(const RetrievalRows& rows, const std::string& arm, const std::string& normalizer) {
  Curve curve{.name = normalizer, .look = rows.look(normalizer), .format = fixed_to(2), .code = true};
  for (const Json* row : rows.rows(arm, normalizer))
    if (const auto value = number_at(*row, "entropy")) curve.points.push_back({size_at(*row, "n"), *value});
  return curve;
}

namespace {

Axis items_axis(const RetrievalRows& rows) {
  return counts_axis("items in the set", "n", rows.sizes());
}

// Hard attention is the yardstick: its curve lies below those that come close to it.
std::vector<std::string> in_order(const RetrievalRows& rows) {
  std::vector<std::string> names = rows.normalizers();
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return family_of(name) == "hard"; });
  return names;
}

Reference chance_line(const RetrievalRows& rows) {
  Reference line{.name = "chance"};
  for (const double n : rows.sizes()) line.points.push_back({n, rows.chance()});
  return line;
}

// What the paper says of a rule, at sizes that were measured here.
void add_published(Chart& chart, const RetrievalRows& rows) {
  const Json& results = rows.results();
  std::vector<std::string> families;
  for (const Json& point : results.at("published"))
    add_once(families, point.at("normalizer").get<std::string>());
  for (const std::string& family : families) {
    const auto normalizer = rows.member(family);
    if (!normalizer) continue;
    Curve curve{.name = family + ", published",
                .look = {rows.look(*normalizer).paint, kDotted},
                .marker = Marker::ring,
                .format = {Format::percent},
                .of = *normalizer};
    for (const Json& point : results.at("published")) {
      const double n = point.at("n").get<double>();
      if (point.at("normalizer") != family || !holds(rows.sizes(), n)) continue;
      curve.points.push_back({n, point.at("accuracy").get<double>()});
    }
    std::sort(curve.points.begin(), curve.points.end(),
              [](const Point& a, const Point& b) { return a.at < b.at; });
    if (curve.points.empty()) continue;
    chart.curves.push_back(std::move(curve));
  }
}

}  // namespace

Chart accuracy_chart(const RetrievalRows& rows, const std::string& arm) {
  Chart chart{
      .title = fmt::format("Accuracy against size, {} training", arm),
      .subtitle = fmt::format("How often the head names the class of the largest of n items, trained on at "
                              "most {}. Bands are 95\u00a0% intervals; dotted: published.",
                              count(rows.largest_trained())),
      .across = items_axis(rows),
      .up = share_axis("accuracy"),
      .reference = chance_line(rows),
      .share = "normalizers"};
  add_published(chart, rows);
  if (chart.curves.empty()) chart.subtitle.resize(chart.subtitle.find("; dotted")), chart.subtitle += ".";
  const std::vector<std::string> first = rows.main_normalizers();
  for (const std::string& name : in_order(rows)) {
    chart.curves.push_back(accuracy_curve(rows, arm, name));
    chart.curves.back().first = holds(first, name);
  }
  return chart;
}

Chart entropy_chart(const RetrievalRows& rows, const std::string& arm) {
  Chart chart{
      .title = fmt::format("Entropy against size, {} training", arm),
      .subtitle =
          "The mean entropy of the weights: 0 is all weight on one item, ln n an equal share for each.",
      .across = items_axis(rows),
      .reference = Reference{.name = "ln n: equal weights", .rising = true},
      .share = "normalizers"};
  const std::vector<std::string> first = rows.main_normalizers();
  double most = chart.across.high > 1.0 ? std::log(chart.across.high) : 1.0;
  for (const std::string& name : in_order(rows)) {
    chart.curves.push_back(entropy_curve(rows, arm, name));
    chart.curves.back().first = holds(first, name);
    for (const Point& point : chart.curves.back().points) most = std::max(most, point.value);
  }
  chart.up = value_axis("entropy, nats", 0.0, 1.05 * most);
  for (const double n : rows.sizes())
    if (n > 0.0) chart.reference->points.push_back({n, std::log(n)});
  return chart;
}

Chart two_by_two_chart(const RetrievalRows& rows) {
  Chart chart{
      .title = fmt::format("Trained on at most {} items: how often the right one is found",
                           count(rows.largest_trained())),
      .subtitle =
          "Two trainings under two rules, the same test sets for all four. Bands are 95\u00a0% intervals; "
          "dashed: the paper’s training.",
      .across = items_axis(rows),
      .up = share_axis("accuracy"),
      .reference = chance_line(rows)};
  const auto paper = rows.paper_arm(), ours = rows.our_arm();
  const auto plain = rows.member("softmax"), sharp = rows.member("entropy_target");
  if (!paper || !ours || !plain || !sharp) return chart;
  for (const std::string& arm : {*paper, *ours})
    for (const std::string& rule : {*plain, *sharp}) {
      Curve curve = accuracy_curve(rows, arm, rule);
      curve.name =
          fmt::format("{}, {}", arm == *paper ? "paper’s training" : "our training", family_of(rule));
      curve.code = false;
      if (arm == *paper) curve.look.dash = kDashed, curve.marker = Marker::ring;
      if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
    }
  if (chart.curves.size() < 4) chart.curves.clear();
  return chart;
}

}  // namespace sharpmax::report
