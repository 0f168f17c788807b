#include "audit/measure/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.h"
#include "base/threads.h"
#include "sharpmax/error.h"
#include "statistics/significance.h"
#include "theory/dispersion.h"

namespace sharpmax::audit {
namespace {

constexpr int kDampings = 21;

// Least squares of y against x over the points where both are finite; NaN for fewer than two.
template <class X, class Y>
double slope_of(std::size_t count, const X& x, const Y& y) {
  double n = 0, sum_x = 0, sum_y = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(y(i))) continue;
    ++n;
    sum_x += x(i);
    sum_y += y(i);
  }
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(y(i))) continue;
    xx += (x(i) - sum_x / n) * (x(i) - sum_x / n);
    xy += (x(i) - sum_x / n) * (y(i) - sum_y / n);
  }
  return n < 2 || xx == 0 ? kNaN : xy / xx;
}

Curve first_of(std::span<const double> lengths, const std::vector<double>& values, std::size_t count) {
  return {lengths.first(count), std::span(values).first(count)};
}

// ln forecast - ln measured, of every head that has values there.
std::vector<double> misses(std::span<const double> lengths, std::span<const std::vector<double>> values,
                           std::size_t from, std::size_t to, double damping) {
  std::vector<double> off;
  for (const auto& head : values) {
    if (!(head[from] > 0) || !(head[to] > 0)) continue;
    off.push_back(std::abs(std::log(forecast(first_of(lengths, head, from + 1), lengths[to], damping)) -
                           std::log(head[to])));
  }
  return off;
}

}  // namespace

double power_slope(const Curve& curve) {
  const double slope = slope_of(
      curve.lengths.size(), [&](std::size_t i) { return std::log(curve.lengths[i]); },
      [&](std::size_t i) { return curve.values[i] > 0 ? std::log(curve.values[i]) : kNaN; });
  return std::isnan(slope) ? 0.0 : slope;
}

double log_slope(const Curve& curve) {
  return slope_of(
      curve.lengths.size(), [&](std::size_t i) { return std::log(curve.lengths[i]); },
      [&](std::size_t i) { return curve.values[i]; });
}

double forecast(const Curve& curve, double length, double damping) {
  for (std::size_t i = curve.lengths.size(); i-- > 0;) {
    if (!(curve.values[i] > 0)) continue;
    const double change = damping * power_slope(curve) * (std::log(length) - std::log(curve.lengths[i]));
    return std::min(1.0, curve.values[i] * std::exp(change));  // of weights: no more than all
  }
  return kNaN;
}

double choose_damping(std::span<const double> lengths, std::span<const std::vector<double>> values) {
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kDampings; ++step) {
    const double damping = static_cast<double>(step) / (kDampings - 1);
    double sum = 0;
    bool any = false;
    for (std::size_t from = 1; from + 1 < lengths.size(); ++from) {  // a slope takes two lengths
      for (std::size_t to = from + 1; to < lengths.size(); ++to) {
        if (lengths[to] < 2 * lengths[from]) continue;
        std::vector<double> off = misses(lengths, values, from, to, damping);
        if (off.empty()) continue;
        any = true;
        sum += quantile(off, 0.5);
      }
    }
    if (any && sum < least) {
      least = sum;
      best = damping;
    }
  }
  return best;
}

ForecastErrors check_forecast(std::span<const double> lengths, std::span<const std::vector<double>> values,
                              std::size_t from, std::size_t to) {
  ForecastErrors errors{.from = static_cast<std::int64_t>(lengths[from]),
                        .to = static_cast<std::int64_t>(lengths[to])};
  std::vector<std::vector<double>> known;
  for (const auto& head : values)
    known.emplace_back(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(from + 1));
  errors.damping = choose_damping(lengths.first(from + 1), known);
  const auto fill = [&](double damping, double& median, double& high) {
    std::vector<double> off = misses(lengths, values, from, to, damping);
    errors.heads = static_cast<std::int64_t>(off.size());
    median = std::exp(quantile(off, 0.5));
    high = std::exp(quantile(off, 0.9));
  };
  fill(errors.damping, errors.ours, errors.ours_90);
  fill(0.0, errors.no_change, errors.no_change_90);
  fill(1.0, errors.power_law, errors.power_law_90);
  return errors;
}

}  // namespace sharpmax::audit

namespace sharpmax {

std::string_view name_of(HeadKind kind) {
  switch (kind) {
    case HeadKind::sink:
      return "sink";
    case HeadKind::local:
      return "local";
    case HeadKind::sharp:
      return "sharp";
    case HeadKind::dispersing:
      return "dispersing";
    case HeadKind::mixed:
      return "mixed";
  }
  return "mixed";
}

namespace audit {

HeadKind kind_of(const KindSigns& signs, const Thresholds& t) {
  if (signs.first > t.sink) return HeadKind::sink;
  if (signs.near_outside > t.local) return HeadKind::local;
  if (signs.peak_outside > t.sharp) return HeadKind::sharp;
  if (signs.peak_outside < t.blunt || signs.entropy_slope > t.dispersing) return HeadKind::dispersing;
  return HeadKind::mixed;
}

}  // namespace audit

}  // namespace sharpmax

namespace sharpmax::audit {
namespace {

// Rows of one head that one run holds, by excerpt and place.
struct Run {
  std::size_t excerpt;
  std::size_t first, count;
};

std::vector<Run> runs_of(std::span<const KeptRows* const> excerpts) {
  std::vector<Run> runs;
  for (std::size_t e = 0; e < excerpts.size(); ++e) {
    const auto& positions = excerpts[e]->positions;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (i == 0 || positions[i] / kRowsRunLength != positions[i - 1] / kRowsRunLength) runs.push_back({e, i, 0});
      ++runs.back().count;
    }
  }
  return runs;
}

}  // namespace

double quantile(std::span<double> values, double share) {
  const auto end = std::partition(values.begin(), values.end(), [](double x) { return !std::isnan(x); });
  const auto count = static_cast<std::size_t>(end - values.begin());
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const double place = share * static_cast<double>(count - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, end);
  if (at + 1 == end) return *at;
  const double next = *std::min_element(at + 1, end);
  return *at + (place - std::floor(place)) * (next - *at);
}

HeadSummary summarise(std::span<const KeptRows* const> excerpts, std::int64_t heads, std::int64_t layer,
                      std::int64_t head) {
  HeadSummary summary;
  const std::vector<Run> runs = runs_of(excerpts);
  std::vector<double> all, part, medians;
  for (std::size_t field = 0; field < kRowFields; ++field) {
    all.clear();
    medians.clear();
    for (const Run& run : runs) {
      part.clear();
      for (std::size_t i = run.first; i < run.first + run.count; ++i)
        part.push_back(excerpts[run.excerpt]->row(heads, layer, head, i)[field]);
      all.insert(all.end(), part.begin(), part.end());
      if (const double median = quantile(part, 0.5); !std::isnan(median)) medians.push_back(median);
    }
    if (field >= kPlainFields) {
      summary.gap_counts[field - kPlainFields] = quantile(all, 0.5);
      continue;
    }
    const Interval interval = median_interval(medians);
    summary.fields[field] = {quantile(all, 0.5), quantile(all, 0.25), quantile(all, 0.75), interval.low,
                             interval.high};
  }
  return summary;
}

}  // namespace sharpmax::audit

namespace sharpmax {

std::string_view name_of(Blunting::How how) {
  switch (how) {
    case Blunting::How::from_start:
      return "from the start";
    case Blunting::How::measured:
      return "measured";
    case Blunting::How::forecast:
      return "forecast";
    case Blunting::How::not_foreseen:
      return "not foreseen";
    case Blunting::How::unknown:
      return "unknown";
  }
  return "unknown";
}

bool Findings::loses_mass() const {
  constexpr double kRounding = 1e-4;
  return std::any_of(by_head.begin(), by_head.end(), [](const HeadFindings& head) {
    return std::any_of(head.at.begin(), head.at.end(), [](const HeadSummary& at) {
      return std::abs(at[RowField::mass].median - 1.0) > kRounding;
    });
  });
}

std::int64_t Findings::count(HeadKind kind) const {
  return std::count_if(by_head.begin(), by_head.end(),
                       [&](const HeadFindings& head) { return head.kind == kind; });
}

namespace audit {
namespace {

std::vector<double> medians_of(const HeadFindings& head, RowField field) {
  std::vector<double> medians;
  for (const HeadSummary& summary : head.at) medians.push_back(summary[field].median);
  return medians;
}

KindSigns signs_of(const HeadFindings& head, std::size_t at) {
  const HeadSummary& s = head.at[at];
  return {s[RowField::first].median, s[RowField::near_outside].median, s[RowField::peak_outside].median,
          head.entropy_slope_outside};
}

// Between (a, p) and (b, q), p >= level > q: where a straight line in logarithms reaches the level.
double crossing(double a, double p, double b, double q, double level) {
  const double share = std::log(p / level) / std::log(p / q);
  return std::exp(std::log(a) + share * (std::log(b) - std::log(a)));
}

Blunting blunting_of(const Curve& curve, double level, double damping) {
  using How = Blunting::How;
  std::size_t last = curve.values.size();
  while (last > 0 && std::isnan(curve.values[last - 1])) --last;
  if (last == 0) return {How::unknown, kNaN};
  const double longest = curve.lengths[last - 1], at_longest = curve.values[last - 1];
  if (at_longest < level) {
    std::size_t i = last - 1;
    while (i > 0 && !(curve.values[i - 1] >= level)) --i;
    if (i == 0) return {How::from_start, curve.lengths[0]};
    const double below = std::max(curve.values[i], std::numeric_limits<double>::min());
    return {How::measured,
            crossing(curve.lengths[i - 1], curve.values[i - 1], curve.lengths[i], below, level)};
  }
  const double slope = damping * power_slope(curve);
  const double length = slope < 0 ? longest * std::exp(std::log(level / at_longest) / slope) : kNaN;
  if (!(length <= kFarthest)) return {How::not_foreseen, kNaN};
  return {How::forecast, std::max(length, longest)};
}

std::size_t where_kinds_are_told(std::span<const double> lengths, std::int64_t trained) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] <= static_cast<double>(trained)) at = i;
  return at;
}

// Only lengths that the model was trained on show how it goes on within them.
std::size_t trained_lengths(std::span<const double> lengths, std::int64_t trained) {
  std::size_t count = 0;
  while (count < lengths.size() && lengths[count] <= static_cast<double>(trained)) ++count;
  return count;
}

void check_forecasts(Findings& findings, std::span<const std::vector<double>> peaks) {
  const std::span<const double> lengths = findings.lengths;
  // From every length at which a slope is known to those a factor of 2 or more beyond.
  for (std::size_t from = 1; from + 1 < lengths.size(); ++from)
    for (std::size_t to = from + 1; to < lengths.size(); ++to)
      if (lengths[to] >= 2 * lengths[from])
        findings.forecasts.push_back(check_forecast(lengths, peaks, from, to));
  const std::size_t known = trained_lengths(lengths, findings.trained);
  std::vector<std::vector<double>> within;
  for (const auto& head : peaks)
    within.emplace_back(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(known));
  findings.damping = choose_damping(lengths.first(known), within);
}

double peak_bound(const HeadSummary& summary) {
  const double keys = summary[RowField::keys].median, spread = summary[RowField::spread].median;
  if (!std::isfinite(keys) || !std::isfinite(spread)) return kNaN;
  return theory::dispersion_range(spread, keys).high;
}

// Over the heads of layers that `among` takes.
template <class Among>
void sum_up_heads(const Findings& findings, const Among& among, TypicalHead& typical) {
  typical.blunt_heads.assign(findings.lengths.size(), 0);
  for (std::size_t i = 0; i < findings.lengths.size(); ++i) {
    std::array<std::vector<double>, kPlainFields> values;
    for (const HeadFindings& head : findings.by_head) {
      if (!among(head.place.layer)) continue;
      for (std::size_t field = 0; field < kPlainFields; ++field) values[field].push_back(head.at[i].fields[field].median);
      typical.blunt_heads[i] += head.at[i][RowField::peak_outside].median < findings.thresholds.blunt;
    }
    for (std::size_t field = 0; field < kPlainFields; ++field)
      typical.median_over_heads[field].push_back(quantile(values[field], 0.5));
  }
}

void tell_layers_apart(Findings& findings, const model::Configuration& c) {
  const auto sees_a_window = [&](std::int64_t layer) { return c.windows[static_cast<std::size_t>(layer)] > 0; };
  const auto with = std::count_if(c.windows.begin(), c.windows.end(), [](std::int64_t window) { return window > 0; });
  if (with == 0 || with == c.layers) return;
  findings.layer_kinds.resize(2);
  LayerKind &window = findings.layer_kinds[0], &full = findings.layer_kinds[1];
  window.name = "window";
  window.layers = with;
  full.name = "full";
  full.layers = c.layers - with;
  sum_up_heads(findings, sees_a_window, window);
  sum_up_heads(findings, [&](std::int64_t layer) { return !sees_a_window(layer); }, full);
}

}  // namespace

Findings find(const ReadingPlan& plan, const Readings& readings, const model::Configuration& c,
              const Thresholds& thresholds, bool softmax) {
  const std::vector<std::size_t> finished = finished_lengths(readings);
  if (finished.empty()) throw Error(ErrorCode::bad_argument, "no length has been read yet");
  Findings findings;
  findings.trained = c.context;
  findings.layers = c.layers;
  findings.heads = c.heads;
  findings.thresholds = thresholds;
  findings.excerpts = static_cast<std::int64_t>(readings.size());
  for (const std::size_t i : finished) findings.lengths.push_back(static_cast<double>(plan.lengths[i]));
  const std::size_t kinds_at = where_kinds_are_told(findings.lengths, c.context);

  findings.by_head.resize(static_cast<std::size_t>(c.layers * c.heads));
  parallel_for(threads_for(0), c.layers * c.heads, [&](std::int64_t place, int) {
    HeadFindings& head = findings.by_head[static_cast<std::size_t>(place)];
    head.place = {place / c.heads, place % c.heads};
    for (const std::size_t i : finished) {
      std::vector<const KeptRows*> rows;
      for (const auto& excerpt : readings) rows.push_back(&*excerpt[i]);
      head.at.push_back(summarise(rows, c.heads, head.place.layer, head.place.head));
      head.at.back().peak_bound = softmax ? peak_bound(head.at.back()) : kNaN;
    }
  });
  std::vector<std::vector<double>> peaks;
  for (const HeadFindings& head : findings.by_head) peaks.push_back(medians_of(head, RowField::peak_outside));
  check_forecasts(findings, peaks);
  for (std::size_t h = 0; h < findings.by_head.size(); ++h) {
    HeadFindings& head = findings.by_head[h];
    const auto entropy = medians_of(head, RowField::entropy);
    const auto outside = medians_of(head, RowField::entropy_outside);
    head.entropy_slope = log_slope({findings.lengths, entropy});
    head.entropy_slope_outside = log_slope({findings.lengths, outside});
    head.peak_slope = power_slope({findings.lengths, peaks[h]});
    head.blunting = blunting_of({findings.lengths, peaks[h]}, thresholds.blunt, findings.damping);
    head.kind = kind_of(signs_of(head, kinds_at), thresholds);
  }
  sum_up_heads(findings, [](std::int64_t) { return true; }, findings);
  tell_layers_apart(findings, c);
  return findings;
}

}  // namespace audit

}  // namespace sharpmax
