#include "audit/analysis/measure_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "audit/analysis/row_geometry.h"
#include "audit/measure/findings.h"
#include "base/numbers.h"
#include "sharpmax/error.h"
#include "statistics/significance.h"
#include "theory/dispersion.h"

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

// Gnedenko and Korolyuk, by reflection of lattice paths: for samples of one size n, P(D >= k / n) =
// 2 sum over j >= 1 of (-1)^(j-1) C(2n, n - j k) / C(2n, n). Quotients of neighbours, so that nothing
// overflows.
double kolmogorov_smirnov_p(std::int64_t steps, std::int64_t size) {
  if (steps <= 0) return 1.0;
  double sum = 0.0, sign = 1.0, quotient = 1.0;
  std::int64_t done = 0;  // quotient is C(2n, n - done) / C(2n, n)
  for (std::int64_t away = steps; away <= size; away += steps, sign = -sign) {
    for (; done < away; ++done)
      quotient *= static_cast<double>(size - done) / static_cast<double>(size + done + 1);
    sum += sign * quotient;
  }
  return std::clamp(2.0 * sum, 0.0, 1.0);
}

KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> first, std::span<const double> second) {
  if (first.empty() || first.size() != second.size())
    throw Error(
        ErrorCode::bad_argument,
        fmt::format("Kolmogorov-Smirnov test: samples of {} and {} values; both must have the same number, at "
                    "least one",
                    first.size(), second.size()));
  std::vector<double> a(first.begin(), first.end()), b(second.begin(), second.end());
  const auto is_nan = [](double x) { return std::isnan(x); };
  if (std::any_of(a.begin(), a.end(), is_nan) || std::any_of(b.begin(), b.end(), is_nan)) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::int64_t steps = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    steps = std::max(steps, std::abs(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j)));
  }
  const auto size = static_cast<std::int64_t>(a.size());
  return {static_cast<double>(steps) / static_cast<double>(size), kolmogorov_smirnov_p(steps, size)};
}

namespace {

// Random numbers of the subsets: apart from those of rows, whose purpose stands in the highest byte of the
// stream.
constexpr std::uint64_t kSubsetStream = std::uint64_t{3} << 56;

// Mean distances of every head at one N.
struct HeadMeans {
  std::vector<double> chosen, other;
};

std::vector<HeadMeans> means_at(const HeadMeasurements& found, std::size_t length,
                                std::span<const std::int64_t> tops, Reading reading, Against against) {
  const auto& measured = found.plan.distances.tops;
  std::vector<HeadMeans> means;
  for (const std::int64_t top : tops) {
    const auto at = index_of(measured, top);
    HeadMeans& of_top = means.emplace_back();
    for (const HeadSums& head : found.heads) {
      const Distances mean = mean_distance(head.by_length[length], at);
      const Distance& read = reading == Reading::sum ? mean.sum : mean.norm;
      of_top.chosen.push_back(read.chosen);
      of_top.other.push_back(against == Against::drawn ? read.drawn : read.drawn_bound);
    }
  }
  return means;
}

std::vector<double> picked(const std::vector<double>& values, std::span<const std::int32_t> which) {
  std::vector<double> out;
  for (const std::int32_t i : which) out.push_back(values[to_size(i)]);
  return out;
}

void find_critical(const std::vector<HeadMeans>& means, double level, CriticalAtLength& out) {
  for (std::size_t i = 0; i < means.size(); ++i) {
    out.all.tests.push_back(kolmogorov_smirnov(means[i].chosen, means[i].other));
    if (!out.all.top && out.all.tests.back().p >= level) out.all.top = out.tops[i];
  }
}

void find_in_subsets(const std::vector<HeadMeans>& means, std::int64_t heads, const AnalysisSettings& s,
                     CriticalAtLength& out) {
  if (heads < s.subset_heads) return;
  out.subsets.heads = s.subset_heads;
  const CounterRandom random(s.seed, kSubsetStream);
  std::vector<std::int32_t> which;
  for (std::int64_t subset = 0; subset < s.subsets; ++subset) {
    random_keys(random, static_cast<std::uint64_t>(subset), heads, s.subset_heads, which);
    std::optional<std::int64_t> top;
    for (std::size_t i = 0; i < means.size() && !top; ++i)
      if (kolmogorov_smirnov(picked(means[i].chosen, which), picked(means[i].other, which)).p >= s.level)
        top = out.tops[i];
    out.subsets.tops.push_back(top);
  }
}

}  // namespace

std::vector<CriticalAtLength> critical_tops(const HeadMeasurements& found, Reading reading, Against against) {
  const AnalysisSettings& s = found.settings;
  const auto& lengths = found.plan.lengths;
  std::vector<CriticalAtLength> out;
  for (const std::int64_t length : s.critical_lengths) {
    CriticalAtLength critical{length, tried_tops(std::min(s.critical_most, length - 1))};
    const auto means = means_at(found, index_of(lengths, length), critical.tops, reading, against);
    find_critical(means, s.level, critical);
    find_in_subsets(means, static_cast<std::int64_t>(found.heads.size()), s, critical);
    out.push_back(std::move(critical));
  }
  return out;
}

std::optional<std::int64_t> median_top(std::vector<std::optional<std::int64_t>> tops) {
  if (tops.empty()) return {};
  const auto before = [](const auto& a, const auto& b) { return a && (!b || *a < *b); };
  const auto middle = tops.begin() + static_cast<std::ptrdiff_t>(tops.size() / 2);
  std::nth_element(tops.begin(), middle, tops.end(), before);
  return *middle;
}

}  // namespace sharpmax::audit
