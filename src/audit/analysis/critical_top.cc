#include "audit/analysis/critical_top.h"

#include <algorithm>

#include "audit/analysis/selection.h"

namespace sharpmax::audit {
namespace {

// Random numbers of the subsets: apart from those of rows, whose purpose stands in the highest byte of the stream.
constexpr std::uint64_t kSubsetStream = std::uint64_t{3} << 56;

std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Mean distances of every head at one N.
struct HeadMeans {
  std::vector<double> chosen, other;
};

std::vector<HeadMeans> means_at(const HeadMeasurements& found, std::size_t length, std::int64_t most,
                                Reading reading, Against against) {
  const auto& tops = found.plan.distances.tops;
  std::vector<HeadMeans> means(to_size(most));
  for (std::int64_t top = 1; top <= most; ++top) {
    const auto at = static_cast<std::size_t>(std::lower_bound(tops.begin(), tops.end(), top) - tops.begin());
    for (const HeadSums& head : found.heads) {
      const Distances mean = mean_distance(head.by_length[length], at);
      const Distance& read = reading == Reading::sum ? mean.sum : mean.norm;
      means[to_size(top - 1)].chosen.push_back(read.chosen);
      means[to_size(top - 1)].other.push_back(against == Against::drawn ? read.drawn : read.drawn_bound);
    }
  }
  return means;
}

std::vector<double> picked(const std::vector<double>& values, std::span<const std::int32_t> which) {
  std::vector<double> out;
  for (const std::int32_t i : which) out.push_back(values[to_size(i)]);
  return out;
}

CriticalTop critical_of(const std::vector<HeadMeans>& means, double level) {
  CriticalTop critical;
  for (std::size_t i = 0; i < means.size(); ++i) {
    critical.tests.push_back(kolmogorov_smirnov(means[i].chosen, means[i].other));
    if (!critical.top && critical.tests.back().p >= level) critical.top = static_cast<std::int64_t>(i) + 1;
  }
  return critical;
}

CriticalSubsets subsets_of(const std::vector<HeadMeans>& means, std::int64_t heads, const AnalysisSettings& s) {
  CriticalSubsets subsets;
  if (heads < s.subset_heads) return subsets;
  subsets.heads = s.subset_heads;
  const CounterRandom random(s.seed, kSubsetStream);
  std::vector<std::int32_t> which;
  for (std::int64_t subset = 0; subset < s.subsets; ++subset) {
    random_keys(random, static_cast<std::uint64_t>(subset), heads, s.subset_heads, which);
    std::optional<std::int64_t> top;
    for (std::size_t i = 0; i < means.size() && !top; ++i)
      if (kolmogorov_smirnov(picked(means[i].chosen, which), picked(means[i].other, which)).p >= s.level)
        top = static_cast<std::int64_t>(i) + 1;
    subsets.tops.push_back(top);
  }
  return subsets;
}

}  // namespace

std::vector<CriticalAtLength> critical_tops(const HeadMeasurements& found, Reading reading, Against against) {
  const AnalysisSettings& s = found.settings;
  const auto& lengths = found.plan.lengths;
  std::vector<CriticalAtLength> out;
  for (const std::int64_t length : s.critical_lengths) {
    const auto at = static_cast<std::size_t>(std::lower_bound(lengths.begin(), lengths.end(), length) - lengths.begin());
    CriticalAtLength critical{length, std::min(s.critical_most, length - 1)};
    const auto means = means_at(found, at, critical.most, reading, against);
    critical.all = critical_of(means, s.level);
    critical.subsets = subsets_of(means, static_cast<std::int64_t>(found.heads.size()), s);
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
