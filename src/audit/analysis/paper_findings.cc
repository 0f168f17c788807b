#include "audit/analysis/measure_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.h"

namespace sharpmax::audit {
namespace {

// "About linearly": the exponent of L.
constexpr double kLinearLow = 0.9, kLinearHigh = 1.1, kLinearR2 = 0.98;
// A plateau: no more than this share of change for a doubling of N, beyond the paper's 20.
constexpr double kPlateauChange = 0.05;
constexpr std::int64_t kPlateauFrom = 20;
// "N = 0.06 L": within a factor of 1.5.
constexpr double kCriticalShare = 0.06, kCriticalFactor = 1.5;
// N_s / N "falls until N = 16, then stays within".
constexpr std::int64_t kSeparabilityFrom = 16;
constexpr double kSeparabilityLow = 0.70, kSeparabilityHigh = 0.85;
// "1 / T below T = 0.1": the exponent of T; "collapses from T = 1": share of the largest value.
constexpr double kInverseTolerance = 0.1, kInverseUpTo = 0.1;
constexpr double kCollapseFrom = 1.0, kCollapseShare = 0.1;

std::vector<double> as_doubles(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

PaperFinding linear_growth(const HeadMeasurements& found) {
  PaperFinding f{"linear-growth", "the distance grows about linearly with L"};
  f.rule = fmt::format(
      "the median over heads of the exponent of L is in [{}, {}] and the median R2 of these fits at least {}",
      kLinearLow, kLinearHigh, kLinearR2);
  std::vector<double> exponents, r2;
  for (const HeadSums& head : found.heads) {
    const PowerLaw law = fit_power_law(as_doubles(found.settings.lengths),
                                       head_by_length(found, head, found.settings.reading));
    exponents.push_back(law.exponent);
    r2.push_back(law.r2);
  }
  const HeadSpread exponent = spread_of(exponents), fit = spread_of(r2);
  f.figures = {{"exponent", exponent.median},
               {"exponent_lower_quartile", exponent.lower_quartile},
               {"exponent_upper_quartile", exponent.upper_quartile},
               {"r2", fit.median}};
  f.found = fmt::format("L^{:.2f} in the median head (half of them between {:.2f} and {:.2f}), R2 {:.3f}",
                        exponent.median, exponent.lower_quartile, exponent.upper_quartile, fit.median);
  if (found.settings.lengths.size() >= 3 && !std::isnan(exponent.median))
    f.holds = exponent.median >= kLinearLow && exponent.median <= kLinearHigh && fit.median >= kLinearR2;
  return f;
}

// The change of ln distance for every doubling of N from tops[from] to tops[to], the median over heads.
double change_per_doubling(const HeadMeasurements& found, std::size_t from, std::size_t to) {
  const auto& tops = found.settings.tops;
  const double doublings = std::log2(static_cast<double>(tops[to]) / static_cast<double>(tops[from]));
  std::vector<double> changes;
  for (const HeadSums& head : found.heads) {
    const auto values = head_by_top_same_rows(found, head, found.settings.reading);
    changes.push_back(std::log(values[to] / values[from]) / doublings);
  }
  return spread_of(changes).median;
}

PaperFinding plateau(const HeadMeasurements& found) {
  PaperFinding f{"plateau", fmt::format("the distance has a plateau beyond N = {}", kPlateauFrom)};
  f.rule = fmt::format(
      "on the same rows, a doubling of N beyond {} changes the distance of the median head by at most {:.0f} "
      "%",
      kPlateauFrom, 100 * kPlateauChange);
  const auto& tops = found.settings.tops;
  const auto knee =
      static_cast<std::size_t>(std::upper_bound(tops.begin(), tops.end(), kPlateauFrom) - tops.begin());
  if (knee == 0 || knee == tops.size()) {
    f.found = fmt::format("N on both sides of {} were not measured", kPlateauFrom);
    return f;
  }
  const double beyond = change_per_doubling(found, knee - 1, tops.size() - 1);
  const double before = knee > 1 ? change_per_doubling(found, 0, knee - 1) : kNaN;
  f.figures = {{"change_per_doubling_before", before}, {"change_per_doubling_beyond", beyond}};
  f.found = fmt::format("{:+.1f} % for a doubling of N from {} to {}, {:+.1f} % from {} to {}",
                        100 * std::expm1(before), tops.front(), tops[knee - 1], 100 * std::expm1(beyond),
                        tops[knee - 1], tops.back());
  if (!std::isnan(beyond)) f.holds = std::abs(std::expm1(beyond)) <= kPlateauChange;
  return f;
}

// Critical N of a subset in the middle, or of all heads if the model has too few for subsets.
std::optional<std::int64_t> typical_top(const CriticalAtLength& critical) {
  return critical.subsets.tops.empty() ? critical.all.top : median_top(critical.subsets.tops);
}

PaperFinding critical_share(const std::vector<CriticalAtLength>& critical) {
  PaperFinding f{"critical-top", fmt::format("the critical N is about {} L", kCriticalShare)};
  const double low = kCriticalShare / kCriticalFactor, high = kCriticalShare * kCriticalFactor;
  f.rule = fmt::format("at the largest L it is between {:.2f} L and {:.2f} L", low, high);
  for (const CriticalAtLength& at : critical) {
    const auto top = typical_top(at);
    const double share = static_cast<double>(top.value_or(at.tops.back())) / static_cast<double>(at.length);
    const std::string_view open = top ? "" : "more than ";
    f.figures.emplace_back(fmt::format("share_at_{}{}", at.length, top ? "" : "_above"), share);
    f.found += fmt::format("{}{}{} = {:.2f} L at L = {}", f.found.empty() ? "" : ", ", open,
                           top.value_or(at.tops.back()), share, at.length);
    if (&at != &critical.back()) continue;
    if (top) f.holds = share >= low && share <= high;
    if (!top && share >= high) f.holds = false;
  }
  const std::int64_t heads = critical.back().subsets.heads;
  f.found += heads > 0 ? fmt::format(" (median of subsets of {} heads)", heads) : " (all heads)";
  return f;
}

PaperFinding separability_level(const HeadMeasurements& found) {
  PaperFinding f{"separability",
                 fmt::format("N_s / N falls until N = {}, then stays within {:.2f} and {:.2f}",
                             kSeparabilityFrom, kSeparabilityLow, kSeparabilityHigh)};
  f.rule = fmt::format(
      "the mean over heads falls up to N = {} and is in [{:.2f}, {:.2f}] at every N from there on",
      kSeparabilityFrom, kSeparabilityLow, kSeparabilityHigh);
  double low = std::numeric_limits<double>::infinity(), high = -low, before = high, last = high;
  bool falls = true;
  for (const SeparabilityPoint& point : separability_curve(found)) {
    if (point.top <= kSeparabilityFrom) falls &= std::isinf(before) || point.share.mean <= before;
    if (point.top <= kSeparabilityFrom) before = point.share.mean;
    if (point.top < kSeparabilityFrom) continue;
    low = std::min(low, point.share.mean);
    high = std::max(high, point.share.mean);
    last = point.share.mean;
  }
  if (std::isinf(low)) {
    f.found = fmt::format("no N from {} on was measured", kSeparabilityFrom);
    return f;
  }
  f.figures = {{"falls", falls ? 1.0 : 0.0}, {"lowest", low}, {"highest", high}, {"last", last}};
  f.found = fmt::format("{} up to N = {}; from there on the mean over heads is between {:.2f} and {:.2f}",
                        falls ? "falls" : "does not fall", kSeparabilityFrom, low, high);
  f.holds = falls && low >= kSeparabilityLow && high <= kSeparabilityHigh;
  return f;
}

// The paper's curve at the smallest step.
std::vector<GradientPoint> curve_of_least_step(const HeadMeasurements& found) {
  const auto& steps = found.plan.gradient.steps;
  const double least = *std::min_element(steps.begin(), steps.end());
  std::vector<GradientPoint> points = gradient_curve(found);
  std::erase_if(points, [&](const GradientPoint& point) { return point.step != least; });
  std::sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.temperature < b.temperature; });
  return points;
}

PaperFinding inverse_temperature(const std::vector<GradientPoint>& points) {
  PaperFinding f{"gradient-inverse-t", fmt::format("the gradient follows 1 / T below T = {}", kInverseUpTo)};
  f.rule = fmt::format("at the smallest step the exponent of T up to {} is within {} of -1", kInverseUpTo,
                       kInverseTolerance);
  std::vector<double> temperatures, g;
  for (const GradientPoint& point : points) {
    if (point.temperature > kInverseUpTo * (1 + 1e-12)) continue;
    temperatures.push_back(point.temperature);
    g.push_back(point.g.highest);
  }
  const double exponent = fit_power_law(temperatures, g).exponent;
  if (std::isnan(exponent)) {
    f.found = fmt::format("fewer than two temperatures up to {} were measured", kInverseUpTo);
    return f;
  }
  f.figures = {{"exponent", exponent}, {"g_at_lowest", g.front()}, {"g_at_highest", g.back()}};
  f.found = fmt::format("T^{:.2f}: {:.3g} at T = {}, {:.3g} at T = {}", exponent, g.front(),
                        temperatures.front(), g.back(), temperatures.back());
  f.holds = std::abs(exponent + 1.0) <= kInverseTolerance;
  return f;
}

PaperFinding collapse(const std::vector<GradientPoint>& points) {
  PaperFinding f{"gradient-collapse", fmt::format("the gradient collapses from T = {} on", kCollapseFrom)};
  f.rule =
      fmt::format("at the smallest step it is at most {:.0f} % of its largest value at every T from {} on",
                  100 * kCollapseShare, kCollapseFrom);
  double largest = 0.0, from = -1.0;
  for (const GradientPoint& point : points) {
    largest = std::max(largest, point.g.highest);
    if (point.temperature >= kCollapseFrom * (1 - 1e-12)) from = std::max(from, point.g.highest);
  }
  if (from < 0 || !(largest > 0)) {
    f.found = fmt::format("no T from {} on was measured", kCollapseFrom);
    return f;
  }
  f.figures = {{"largest", largest}, {"largest_from_collapse", from}};
  f.found = fmt::format("at most {:.3g} from T = {} on, {:.1f} % of the largest, {:.3g}", from, kCollapseFrom,
                        100 * from / largest, largest);
  f.holds = from <= kCollapseShare * largest;
  return f;
}

}  // namespace

PowerLaw fit_power_law(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(y[i] > 0)) return {kNaN, kNaN};
    const double u = std::log(x[i]), v = std::log(y[i]);
    sx += u;
    sy += v;
    sxx += u * u;
    sxy += u * v;
    syy += v * v;
  }
  if (x.size() < 2) return {kNaN, kNaN};
  const double xx = sxx - sx * sx / n, xy = sxy - sx * sy / n, yy = syy - sy * sy / n;
  if (!(xx > 0)) return {kNaN, kNaN};
  return {xy / xx, yy > 0 ? xy * xy / (xx * yy) : 1.0};
}

std::vector<PaperFinding> paper_findings(const HeadMeasurements& found,
                                         const std::vector<CriticalAtLength>& critical) {
  const AnalysisSettings& s = found.settings;
  std::vector<PaperFinding> findings;
  if (s.wants(Analysis::distance_length)) findings.push_back(linear_growth(found));
  if (s.wants(Analysis::distance_top)) findings.push_back(plateau(found));
  if (s.wants(Analysis::critical_top) && !critical.empty()) findings.push_back(critical_share(critical));
  if (s.wants(Analysis::separability)) findings.push_back(separability_level(found));
  if (s.wants(Analysis::gradient)) {
    const auto points = curve_of_least_step(found);
    findings.push_back(inverse_temperature(points));
    findings.push_back(collapse(points));
  }
  return findings;
}

}  // namespace sharpmax::audit
