#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "audit/analysis/measure_model.h"
#include "audit/measure/findings.h"
#include "job/json_members.h"

namespace sharpmax::audit {
namespace {

void round(std::vector<double>& values) {
  for (double& value : values) value = rounded(value);
}

HeadSpread rounded_spread(const HeadSpread& spread) {
  return {rounded(spread.mean), rounded(spread.lower_quartile), rounded(spread.median), rounded(spread.upper_quartile),
          rounded(spread.highest)};
}

// Both readings of one curve: of(found, reading).
template <class Curve>
BothReadings<std::vector<DistancePoint>> both_readings(const HeadMeasurements& found, const Curve& of) {
  BothReadings<std::vector<DistancePoint>> both{of(found, Reading::sum), of(found, Reading::norm)};
  for (auto* const points : {&both.sum, &both.norm})
    for (DistancePoint& point : *points)
      for (HeadSpread* const spread : {&point.chosen, &point.drawn, &point.drawn_bound, &point.chosen_bound})
        *spread = rounded_spread(*spread);
  return both;
}

// Means of one head, one for each L or N.
BothReadings<HeadDistances> head_distances(const std::vector<Distances>& means) {
  const auto reading_of = [&](Reading reading) {
    HeadDistances distances;
    for (const Distances& mean : means) {
      distances.chosen.push_back(rounded(read(mean, reading).chosen));
      distances.drawn.push_back(rounded(read(mean, reading).drawn));
      distances.drawn_bound.push_back(rounded(read(mean, reading).drawn_bound));
    }
    return distances;
  };
  return {reading_of(Reading::sum), reading_of(Reading::norm)};
}

DistanceLength distance_length_of(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  DistanceLength section{.top = s.length_top, .lengths = s.lengths, .points = both_readings(found, by_length)};
  const std::size_t top = index_of(found.plan.distances.tops, s.length_top);
  for (const HeadSums& head : found.heads) {
    std::vector<Distances> means;
    for (const std::int64_t length : s.lengths)
      means.push_back(mean_distance(head.by_length[index_of(found.plan.lengths, length)], top));
    const PowerLaw law =
        fit_power_law({s.lengths.begin(), s.lengths.end()}, head_by_length(found, head, s.reading));
    section.heads.push_back({{head.place, head_distances(means)}, rounded(law.exponent), rounded(law.r2)});
  }
  return section;
}

std::vector<HeadByTop> heads_by_top(const HeadMeasurements& found, const std::vector<std::int64_t>& tops) {
  std::vector<HeadByTop> heads;
  for (const HeadSums& head : found.heads) {
    std::vector<Distances> means;
    for (const std::int64_t top : tops)
      means.push_back(mean_distance(head.by_length.back(), index_of(found.plan.distances.tops, top)));
    heads.push_back({head.place, head_distances(means)});
  }
  return heads;
}

DistanceTop distance_top_of(const HeadMeasurements& found) {
  return {.length = found.settings.length,
          .tops = found.settings.tops,
          .points = both_readings(found, by_top),
          .same_rows_from = found.plan.common_from,
          .same_rows = both_readings(found, by_top_same_rows),
          .heads = heads_by_top(found, found.settings.tops)};
}

std::optional<SubsetTops> subset_tops(const CriticalSubsets& subsets) {
  if (subsets.heads == 0) return std::nullopt;
  const auto before = [](const auto& a, const auto& b) { return a && (!b || *a < *b); };
  return SubsetTops{.heads = subsets.heads,
                    .tops = subsets.tops,
                    .median = median_top(subsets.tops),
                    .lowest = *std::min_element(subsets.tops.begin(), subsets.tops.end(), before),
                    .highest = *std::max_element(subsets.tops.begin(), subsets.tops.end(), before)};
}

std::vector<CriticalPoint> critical_points(const HeadMeasurements& found, Reading reading, Against against) {
  std::vector<CriticalPoint> points;
  for (const CriticalAtLength& at : critical_tops(found, reading, against)) {
    CriticalPoint point{.length = at.length,
                        .critical = at.all.top,
                        .largest_tried = at.tops.back(),
                        .subsets = subset_tops(at.subsets),
                        .tops = at.tops};
    for (const KolmogorovSmirnov& test : at.all.tests) {
      point.statistic.push_back(rounded(test.statistic));
      point.p.push_back(rounded(test.p));
    }
    points.push_back(std::move(point));
  }
  return points;
}

CriticalTops critical_top_of(const HeadMeasurements& found) {
  const auto curves = [&](Reading reading) {
    return CriticalCurves{critical_points(found, reading, Against::drawn),
                          critical_points(found, reading, Against::drawn_bound)};
  };
  const auto tops = tried_tops(found.settings.critical_most);
  return {.level = found.settings.level,
          .test = "two-sample Kolmogorov-Smirnov, two-sided, exact",
          .curves = {curves(Reading::sum), curves(Reading::norm)},
          .tops = tops,
          .heads = heads_by_top(found, tops)};
}

SeparabilityCurve separability_of(const HeadMeasurements& found) {
  SeparabilityCurve section{.length = found.settings.length,
                            .tops = found.plan.separability_tops,
                            .points = separability_curve(found)};
  for (SeparabilityPoint& point : section.points)
    for (HeadSpread* const spread : {&point.share, &point.bound, &point.counted}) *spread = rounded_spread(*spread);
  for (const HeadSums& head : found.heads) {
    HeadShares shares{head.place, {}};
    for (std::size_t at = 0; at < section.tops.size(); ++at)
      shares.share.push_back(rounded(mean_separability(head.by_length.back(), at).share));
    section.heads.push_back(std::move(shares));
  }
  return section;
}

GradientCurve gradient_of(const HeadMeasurements& found) {
  const GradientPlan& plan = found.plan.gradient;
  GradientCurve section{.length = found.settings.length,
                        .temperatures = plan.temperatures,
                        .steps = plan.steps,
                        .points = gradient_curve(found)};
  for (GradientPoint& point : section.points) {
    point.g = rounded_spread(point.g);
    point.bound = rounded(point.bound);
    point.published_bound = rounded(point.published_bound);
  }
  for (const HeadSums& head : found.heads) {
    HeadGradients gradients{head.place, {}};
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      std::vector<double>& g = gradients.g.emplace_back();
      for (std::size_t t = 0; t < plan.temperatures.size(); ++t)
        g.push_back(mean_gradient(head.by_length.back(), t * plan.steps.size() + step));
      round(g);
    }
    section.heads.push_back(std::move(gradients));
  }
  return section;
}

std::vector<PaperFinding> rounded_findings(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  std::vector<CriticalAtLength> critical;
  if (s.wants(Analysis::critical_top)) critical = critical_tops(found, s.reading, Against::drawn);
  std::vector<PaperFinding> findings = paper_findings(found, critical);
  for (PaperFinding& finding : findings)
    for (auto& [name, value] : finding.figures) value = rounded(value);
  return findings;
}

Json finding_json(const PaperFinding& finding) {
  Json figures = Json::object();
  for (const auto& [name, value] : finding.figures) figures[name] = json_of(value);
  return {{"name", finding.name},   {"claim", finding.claim}, {"holds", json_of(finding.holds)},
          {"found", finding.found}, {"rule", finding.rule},   {"figures", std::move(figures)}};
}

PaperFinding finding_in(const Json& json) {
  PaperFinding finding;
  read_json(json.at("name"), finding.name);
  read_json(json.at("claim"), finding.claim);
  read_json(json.at("holds"), finding.holds);
  read_json(json.at("found"), finding.found);
  read_json(json.at("rule"), finding.rule);
  for (const auto& [name, value] : json.at("figures").items())
    read_json(value, finding.figures.emplace_back(name, 0).second);
  return finding;
}

template <class Findings, class Visit>
void each_setting(Findings& f, const Visit& visit) {
  visit("vectors", f.vectors);
  visit("distance", f.distance);
  visit("length", f.length);
  visit("chunks", f.chunks);
  visit("heads", f.heads);
  visit("draws", f.draws);
  visit("seed", f.seed);
  visit("notes", f.notes);
}

template <class Findings, class Visit>
void each_section(Findings& f, const Visit& visit) {
  visit.optional("distance_length", f.distance_length);
  visit.optional("distance_top", f.distance_top);
  visit.optional("critical_top", f.critical_top);
  visit.optional("separability", f.separability);
  visit.optional("gradient", f.gradient);
}

void require_points(const char* section, std::size_t found, std::size_t expected) {
  if (found != expected)
    throw Error(ErrorCode::bad_file, fmt::format("{}: a curve has {} points; it must have {}", section, found, expected));
}

// Tables index one curve by the other.
void check_curves(const AnalysisFindings& f) {
  if (f.distance_top)
    for (const char* const reading : {"sum", "norm"})
      require_points("distance_top", f.distance_top->same_rows.of(reading).size(),
                     f.distance_top->points.of(reading).size());
  if (f.critical_top)
    for (const char* const reading : {"sum", "norm"}) {
      const CriticalCurves& curves = f.critical_top->curves.of(reading);
      require_points("critical_top", curves.against_drawn_bound.size(), curves.against_drawn.size());
    }
  if (f.gradient)
    require_points("gradient", f.gradient->points.size(), f.gradient->steps.size() * f.gradient->temperatures.size());
}

}  // namespace

AnalysisFindings findings_of(const HeadMeasurements& found) {
  const AnalysisSettings& s = found.settings;
  AnalysisFindings f{.vectors = std::string(name_of(s.vectors)),
                     .distance = std::string(name_of(s.reading)),
                     .length = s.length,
                     .chunks = s.chunks,
                     .heads = static_cast<std::int64_t>(found.heads.size()),
                     .draws = s.draws,
                     .seed = s.seed,
                     .notes = found.notes,
                     .findings = rounded_findings(found)};
  if (s.wants(Analysis::distance_length)) f.distance_length = distance_length_of(found);
  if (s.wants(Analysis::distance_top)) f.distance_top = distance_top_of(found);
  if (s.wants(Analysis::critical_top)) f.critical_top = critical_top_of(found);
  if (s.wants(Analysis::separability)) f.separability = separability_of(found);
  if (s.wants(Analysis::gradient)) f.gradient = gradient_of(found);
  return f;
}

Json to_json(const AnalysisFindings& findings) {
  Json json = Json::object();
  const sharpmax::internal::Writer write{json};
  each_setting(findings, write);
  json["findings"] = Json::array();
  for (const PaperFinding& finding : findings.findings) json["findings"].push_back(finding_json(finding));
  each_section(findings, write);
  return json;
}

AnalysisFindings analysis_findings_in(const Json& json) {
  AnalysisFindings findings;
  const sharpmax::internal::Reader read_member{json};
  each_setting(findings, read_member);
  for (const Json& finding : json.at("findings")) findings.findings.push_back(finding_in(finding));
  each_section(findings, read_member);
  check_curves(findings);
  return findings;
}

}  // namespace sharpmax::audit
