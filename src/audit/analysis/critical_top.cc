#include "audit/analysis/critical_top.h"

#include <algorithm>

#include "audit/analysis/selection.h"
#include "audit/analysis/summary_curves.h"
#include "base/numbers.h"

namespace sharpmax::audit {
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
