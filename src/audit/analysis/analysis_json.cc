#include "audit/analysis/analysis_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "audit/measure/six_digits.h"

namespace sharpmax::audit {
namespace {

using Json = nlohmann::ordered_json;

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(six_digits(value));
  return list;
}

Json to_json(const HeadSpread& spread) {
  return {{"mean", six_digits(spread.mean)},
          {"lower_quartile", six_digits(spread.lower_quartile)},
          {"median", six_digits(spread.median)},
          {"upper_quartile", six_digits(spread.upper_quartile)},
          {"highest", six_digits(spread.highest)}};
}

Json to_json(const DistancePoint& point) {
  return {{"length", point.length},
          {"top", point.top},
          {"chosen", to_json(point.chosen)},
          {"drawn", to_json(point.drawn)},
          {"drawn_bound", to_json(point.drawn_bound)},
          {"chosen_bound", to_json(point.chosen_bound)}};
}

Json points_json(const std::vector<DistancePoint>& points) {
  Json list = Json::array();
  for (const DistancePoint& point : points) list.push_back(to_json(point));
  return list;
}

// Both readings of one curve.
template <class Curve>
Json both_readings(const HeadMeasurements& found, const Curve& curve) {
  return {{"sum", points_json(curve(found, Reading::sum))},
          {"norm", points_json(curve(found, Reading::norm))}};
}

Json place_json(const HeadPlace& place) { return {{"layer", place.layer}, {"head", place.head}}; }

// Means of one head in both readings, one value for each of what `at` lists.
Json head_distances(const std::vector<Distances>& means) {
  Json json = Json::object();
  for (const Reading reading : {Reading::sum, Reading::norm}) {
    std::vector<double> chosen, drawn, drawn_bound;
    for (const Distances& mean : means) {
      chosen.push_back(read(mean, reading).chosen);
      drawn.push_back(read(mean, reading).drawn);
      drawn_bound.push_back(read(mean, reading).drawn_bound);
    }
    json[std::string(name_of(reading))] = {
        {"chosen", numbers(chosen)}, {"drawn", numbers(drawn)}, {"drawn_bound", numbers(drawn_bound)}};
  }
  return json;
}

Json distance_length_json(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  Json json = {{"top", s.length_top}, {"lengths", s.lengths}, {"points", both_readings(found, by_length)}};
  const std::size_t top = index_of(found.plan.distances.tops, s.length_top);
  for (const HeadSums& head : found.heads) {
    std::vector<Distances> means;
    for (const std::int64_t length : s.lengths)
      means.push_back(mean_distance(head.by_length[index_of(found.plan.lengths, length)], top));
    Json entry = place_json(head.place);
    entry.update(head_distances(means));
    const PowerLaw law =
        fit_power_law({s.lengths.begin(), s.lengths.end()}, head_by_length(found, head, s.reading));
    entry["exponent"] = six_digits(law.exponent);
    entry["r2"] = six_digits(law.r2);
    json["heads"].push_back(std::move(entry));
  }
  return json;
}

Json heads_by_top(const HeadMeasurements& found, const std::vector<std::int64_t>& tops) {
  Json list = Json::array();
  for (const HeadSums& head : found.heads) {
    std::vector<Distances> means;
    for (const std::int64_t top : tops)
      means.push_back(mean_distance(head.by_length.back(), index_of(found.plan.distances.tops, top)));
    list.push_back(place_json(head.place));
    list.back().update(head_distances(means));
  }
  return list;
}

Json distance_top_json(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  return {{"length", s.length},
          {"tops", s.tops},
          {"points", both_readings(found, by_top)},
          {"same_rows_from", found.plan.common_from},
          {"same_rows", both_readings(found, by_top_same_rows)},
          {"heads", heads_by_top(found, s.tops)}};
}

Json top_json(const std::optional<std::int64_t>& top) { return top ? Json(*top) : Json(); }

Json subsets_json(const CriticalSubsets& subsets) {
  if (subsets.heads == 0) return nullptr;
  const auto before = [](const auto& a, const auto& b) { return a && (!b || *a < *b); };
  Json tops = Json::array();
  for (const auto& top : subsets.tops) tops.push_back(top_json(top));
  return {{"heads", subsets.heads},
          {"tops", std::move(tops)},
          {"median", top_json(median_top(subsets.tops))},
          {"lowest", top_json(*std::min_element(subsets.tops.begin(), subsets.tops.end(), before))},
          {"highest", top_json(*std::max_element(subsets.tops.begin(), subsets.tops.end(), before))}};
}

Json critical_json(const std::vector<CriticalAtLength>& critical) {
  Json list = Json::array();
  for (const CriticalAtLength& at : critical) {
    std::vector<double> statistics, p;
    for (const KolmogorovSmirnov& test : at.all.tests) {
      statistics.push_back(test.statistic);
      p.push_back(test.p);
    }
    list.push_back({{"length", at.length},
                    {"critical", top_json(at.all.top)},
                    {"largest_tried", at.tops.back()},
                    {"subsets", subsets_json(at.subsets)},
                    {"tops", at.tops},
                    {"statistic", numbers(statistics)},
                    {"p", numbers(p)}});
  }
  return list;
}

Json critical_top_json(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  Json json = {{"level", s.level}, {"test", "two-sample Kolmogorov-Smirnov, two-sided, exact"}};
  for (const Reading reading : {Reading::sum, Reading::norm})
    json[std::string(name_of(reading))] = {
        {"against_drawn", critical_json(critical_tops(found, reading, Against::drawn))},
        {"against_drawn_bound", critical_json(critical_tops(found, reading, Against::drawn_bound))}};
  const auto tops = tried_tops(s.critical_most);
  json["tops"] = tops;
  json["heads"] = heads_by_top(found, tops);
  return json;
}

Json separability_json(const HeadMeasurements& found) {
  Json json = {{"length", found.settings.length}, {"tops", found.plan.separability_tops}};
  for (const SeparabilityPoint& point : separability_curve(found))
    json["points"].push_back({{"top", point.top},
                              {"share", to_json(point.share)},
                              {"bound", to_json(point.bound)},
                              {"counted_bound", to_json(point.counted)}});
  for (const HeadSums& head : found.heads) {
    std::vector<double> share;
    for (std::size_t at = 0; at < found.plan.separability_tops.size(); ++at)
      share.push_back(mean_separability(head.by_length.back(), at).share);
    json["heads"].push_back(place_json(head.place));
    json["heads"].back()["share"] = numbers(share);
  }
  return json;
}

Json gradient_json(const HeadMeasurements& found) {
  const GradientPlan& plan = found.plan.gradient;
  Json json = {{"length", found.settings.length}, {"temperatures", plan.temperatures}, {"steps", plan.steps}};
  for (const GradientPoint& point : gradient_curve(found))
    json["points"].push_back({{"step", point.step},
                              {"temperature", point.temperature},
                              {"g", to_json(point.g)},
                              {"bound", six_digits(point.bound)},
                              {"published_bound", six_digits(point.published_bound)}});
  for (const HeadSums& head : found.heads) {
    json["heads"].push_back(place_json(head.place));
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      std::vector<double> g;
      for (std::size_t t = 0; t < plan.temperatures.size(); ++t)
        g.push_back(mean_gradient(head.by_length.back(), t * plan.steps.size() + step));
      json["heads"].back()["g"].push_back(numbers(g));  // [step, temperature]
    }
  }
  return json;
}

Json findings_json(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  std::vector<CriticalAtLength> critical;
  if (s.wants(Analysis::critical_top)) critical = critical_tops(found, s.reading, Against::drawn);
  Json list = Json::array();
  for (const PaperFinding& finding : paper_findings(found, critical)) {
    Json figures = Json::object();
    for (const auto& [name, value] : finding.figures) figures[name] = six_digits(value);
    list.push_back({{"name", finding.name},
                    {"claim", finding.claim},
                    {"holds", finding.holds ? Json(*finding.holds) : Json()},
                    {"found", finding.found},
                    {"rule", finding.rule},
                    {"figures", std::move(figures)}});
  }
  return list;
}

}  // namespace

Json analysis_json(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  Json json = {{"vectors", name_of(s.vectors)},
               {"distance", name_of(s.reading)},
               {"length", s.length},
               {"chunks", s.chunks},
               {"heads", found.heads.size()},
               {"draws", s.draws},
               {"seed", s.seed},
               {"notes", found.notes}};
  json["findings"] = findings_json(found);
  if (s.wants(Analysis::distance_length)) json["distance_length"] = distance_length_json(found);
  if (s.wants(Analysis::distance_top)) json["distance_top"] = distance_top_json(found);
  if (s.wants(Analysis::critical_top)) json["critical_top"] = critical_top_json(found);
  if (s.wants(Analysis::separability)) json["separability"] = separability_json(found);
  if (s.wants(Analysis::gradient)) json["gradient"] = gradient_json(found);
  return json;
}

}  // namespace sharpmax::audit
