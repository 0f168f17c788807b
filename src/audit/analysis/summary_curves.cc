#include "audit/analysis/summary_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/measure/summary.h"
#include "statistics/significance.h"
#include "theory/gradient.h"

namespace sharpmax::audit {
namespace {

// of_head(sums) gives the distances of one head.
template <class OfHead>
DistancePoint point_over_heads(const HeadMeasurements& found, Reading reading, const OfHead& of_head) {
  std::vector<double> chosen, drawn, drawn_bound, chosen_bound;
  for (const HeadSums& head : found.heads) {
    const Distances mean = of_head(head);
    const Distance& distance = read(mean, reading);
    chosen.push_back(distance.chosen);
    drawn.push_back(distance.drawn);
    drawn_bound.push_back(distance.drawn_bound);
    chosen_bound.push_back(distance.chosen_bound);
  }
  return {0, 0, spread_of(chosen), spread_of(drawn), spread_of(drawn_bound), spread_of(chosen_bound)};
}

const RowSums& whole(const HeadSums& head) { return head.by_length.back(); }

// rows(head) says over which rows of a head.
template <class Rows>
std::vector<DistancePoint> tops_over(const HeadMeasurements& found, Reading reading, const Rows& rows) {
  std::vector<DistancePoint> points;
  for (const std::int64_t top : found.settings.tops) {
    const std::size_t at = index_of(found.plan.distances.tops, top);
    points.push_back(
        point_over_heads(found, reading, [&](const HeadSums& h) { return mean_distance(rows(h), at); }));
    points.back().length = found.settings.length;
    points.back().top = top;
  }
  return points;
}

}  // namespace

const Distance& read(const Distances& distances, Reading reading) {
  return reading == Reading::sum ? distances.sum : distances.norm;
}

std::size_t index_of(const std::vector<std::int64_t>& ascending, std::int64_t value) {
  return static_cast<std::size_t>(std::lower_bound(ascending.begin(), ascending.end(), value) -
                                  ascending.begin());
}

HeadSpread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  HeadSpread spread;
  spread.mean = mean_of(values);
  spread.lower_quartile = quantile(values, 0.25);
  spread.median = quantile(values, 0.5);
  spread.upper_quartile = quantile(values, 0.75);
  spread.highest = quantile(values, 1.0);
  return spread;
}

std::vector<DistancePoint> by_length(const HeadMeasurements& found, Reading reading) {
  const std::size_t top = index_of(found.plan.distances.tops, found.settings.length_top);
  std::vector<DistancePoint> points;
  for (const std::int64_t length : found.settings.lengths) {
    const std::size_t at = index_of(found.plan.lengths, length);
    points.push_back(point_over_heads(
        found, reading, [&](const HeadSums& h) { return mean_distance(h.by_length[at], top); }));
    points.back().length = length;
    points.back().top = found.settings.length_top;
  }
  return points;
}

std::vector<DistancePoint> by_top(const HeadMeasurements& found, Reading reading) {
  return tops_over(found, reading, whole);
}

std::vector<DistancePoint> by_top_same_rows(const HeadMeasurements& found, Reading reading) {
  return tops_over(found, reading, [](const HeadSums& head) -> const RowSums& { return head.common; });
}

std::vector<SeparabilityPoint> separability_curve(const HeadMeasurements& found) {
  std::vector<SeparabilityPoint> points;
  for (std::size_t at = 0; at < found.plan.separability_tops.size(); ++at) {
    std::vector<double> share, bound, counted;
    for (const HeadSums& head : found.heads) {
      const Separability mean = mean_separability(whole(head), at);
      share.push_back(mean.share);
      bound.push_back(mean.bound);
      counted.push_back(mean.counted);
    }
    points.push_back(
        {found.plan.separability_tops[at], spread_of(share), spread_of(bound), spread_of(counted)});
  }
  return points;
}

std::vector<GradientPoint> gradient_curve(const HeadMeasurements& found) {
  const GradientPlan& plan = found.plan.gradient;
  std::vector<GradientPoint> points;
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (std::size_t t = 0; t < plan.temperatures.size(); ++t) {
      std::vector<double> g;
      for (const HeadSums& head : found.heads)
        g.push_back(mean_gradient(whole(head), t * plan.steps.size() + step));
      const double temperature = plan.temperatures[t], size = plan.steps[step];
      const double bound = found.plain_softmax ? theory::difference_bound(temperature, size)
                                               : std::numeric_limits<double>::quiet_NaN();
      points.push_back(
          {temperature, size, spread_of(g), bound, theory::published_gradient_bound(temperature)});
    }
  }
  return points;
}

std::vector<double> head_by_length(const HeadMeasurements& found, const HeadSums& head, Reading reading) {
  const std::size_t top = index_of(found.plan.distances.tops, found.settings.length_top);
  std::vector<double> values;
  for (const std::int64_t length : found.settings.lengths)
    values.push_back(
        read(mean_distance(head.by_length[index_of(found.plan.lengths, length)], top), reading).chosen);
  return values;
}

std::vector<double> head_by_top_same_rows(const HeadMeasurements& found, const HeadSums& head,
                                          Reading reading) {
  std::vector<double> values;
  for (const std::int64_t top : found.settings.tops)
    values.push_back(
        read(mean_distance(head.common, index_of(found.plan.distances.tops, top)), reading).chosen);
  return values;
}

}  // namespace sharpmax::audit
