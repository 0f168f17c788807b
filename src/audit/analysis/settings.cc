#include "audit/analysis/measure_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/in_quotes.h"
#include "sharpmax/job.h"

namespace sharpmax::audit {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::bad_argument, sentence); }

Analysis parse_one(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Analysis analysis : kAnalyses) {
    if (word == name_of(analysis)) return analysis;
    names.push_back(name_of(analysis));
  }
  throw RequestError(ErrorCode::bad_argument,
                     fmt::format("{}: unknown analysis {}; it must be one of {}, all", named("analysis"), in_quotes(word),
                                 fmt::join(names, ", ")));
}

void check_counts(std::string_view what, const std::vector<std::int64_t>& counts) {
  if (counts.empty()) refuse(fmt::format("{}: none was given; there must be at least one", what));
  for (const std::int64_t count : counts)
    if (count < 1) refuse(fmt::format("{} is {}; it must be at least 1", what, count));
}

void check_positive(std::string_view what, const std::vector<double>& values) {
  if (values.empty()) refuse(fmt::format("{}: none was given; there must be at least one", what));
  for (const double value : values)
    if (!(value > 0) || std::isinf(value))
      refuse(fmt::format("{} is {}; it must be a finite number above 0", what, value));
}

std::vector<std::int64_t> ascending(const std::vector<std::int64_t>& values) {
  const std::set<std::int64_t> sorted(values.begin(), values.end());
  return {sorted.begin(), sorted.end()};
}

// Keeps the values up to `most`, ascending.
void keep(std::string_view what, std::string_view why, std::int64_t most, std::vector<std::int64_t>& values,
          std::vector<std::string>& notes) {
  values = ascending(values);
  const auto cut = std::upper_bound(values.begin(), values.end(), most);
  if (cut == values.end()) return;
  notes.push_back(fmt::format("{}: {} left out, {}", what, fmt::join(cut, values.end(), ", "), why));
  values.erase(cut, values.end());
}

}  // namespace

std::string_view name_of(Analysis analysis) {
  switch (analysis) {
    case Analysis::distance_length:
      return "distance-length";
    case Analysis::distance_top:
      return "distance-top";
    case Analysis::critical_top:
      return "critical-top";
    case Analysis::separability:
      return "separability";
    case Analysis::gradient:
      break;
  }
  return "gradient";
}

std::string_view name_of(Vectors vectors) { return vectors == Vectors::values ? "values" : "hidden"; }

std::string_view name_of(Reading reading) { return reading == Reading::sum ? "sum" : "norm"; }

std::vector<Analysis> parse_analyses(std::string_view text) {
  std::set<Analysis> wanted;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, comma - at);
    if (word == "all") {
      wanted.insert(std::begin(kAnalyses), std::end(kAnalyses));
    } else {
      wanted.insert(parse_one(word));
    }
    at = comma + 1;
  }
  return {wanted.begin(), wanted.end()};
}

bool AnalysisSettings::wants(Analysis analysis) const {
  return std::find(analyses.begin(), analyses.end(), analysis) != analyses.end();
}

void check(const AnalysisSettings& s) {
  if (s.analyses.empty()) refuse("no analysis was named; there must be at least one");
  check_counts("a length", s.lengths);
  check_counts("a length of critical-top", s.critical_lengths);
  check_counts("a number of keys of distance-top", s.tops);
  check_counts("a number of keys of separability", s.separability_tops);
  check_counts("the number of keys of distance-length", {s.length_top});
  check_counts("the largest number of keys of critical-top", {s.critical_most});
  check_counts("the number of chunks", {s.chunks});
  check_counts("the number of draws", {s.draws});
  check_counts("the number of subsets", {s.subsets});
  check_counts("the number of heads of a subset", {s.subset_heads});
  check_positive("a temperature", s.gradient.temperatures);
  check_positive("a step", s.gradient.steps);
  if (s.length < 2) refuse(fmt::format("the length is {}; it must be at least 2", s.length));
  if (!(s.level > 0 && s.level < 1))
    refuse(fmt::format("the level is {}; it must be between 0 and 1", s.level));
}

AnalysisSettings fitted(AnalysisSettings s, const TextSize& text, std::vector<std::string>& notes) {
  check(s);
  const std::int64_t most = text.tokens + text.before;
  if (most < 2) refuse(fmt::format("the text has {} tokens; it must have at least 2", text.tokens));
  if (most < s.length) {
    notes.push_back(fmt::format("the text has {} tokens: L is {}, not {}", text.tokens, most, s.length));
    s.length = most;
  }
  const std::int64_t chunks = text.tokens / (s.length - text.before);
  if (chunks < s.chunks) {
    notes.push_back(
        fmt::format("the text has {} whole chunks of {} tokens, not {}", chunks, s.length, s.chunks));
    s.chunks = chunks;
  }
  const std::string beyond = fmt::format("beyond L = {}", s.length);
  const std::string none_left = fmt::format("as no row of {} keys leaves any out", s.length);
  keep("lengths of distance-length", beyond, s.length, s.lengths, notes);
  keep("lengths of critical-top", beyond, s.length, s.critical_lengths, notes);
  // L itself is always looked at.
  if (s.lengths.empty() || s.lengths.back() != s.length) s.lengths.push_back(s.length);
  if (s.critical_lengths.empty() || s.critical_lengths.back() != s.length)
    s.critical_lengths.push_back(s.length);
  keep("N of distance-top", none_left, s.length - 1, s.tops, notes);
  keep("N of separability", none_left, s.length - 1, s.separability_tops, notes);
  s.length_top = std::min(s.length_top, s.length - 1);
  s.critical_most = std::min(s.critical_most, s.length - 1);
  if (s.tops.empty()) s.tops = {1};
  if (s.separability_tops.empty()) s.separability_tops = {1};
  return s;
}

std::vector<std::int64_t> tried_tops(std::int64_t most) {
  std::vector<std::int64_t> tops;
  for (std::int64_t top = 1; top <= most; top += std::max<std::int64_t>(1, top / 50)) tops.push_back(top);
  return tops;
}

RowPlan plan_of(const AnalysisSettings& s) {
  std::set<std::int64_t> lengths{s.length}, tops, bounded;
  if (s.wants(Analysis::distance_length)) {
    lengths.insert(s.lengths.begin(), s.lengths.end());
    bounded.insert(s.length_top);
  }
  if (s.wants(Analysis::distance_top)) bounded.insert(s.tops.begin(), s.tops.end());
  tops = bounded;
  if (s.wants(Analysis::critical_top)) {
    lengths.insert(s.critical_lengths.begin(), s.critical_lengths.end());
    const auto tried = tried_tops(s.critical_most);
    tops.insert(tried.begin(), tried.end());
  }
  RowPlan plan;
  plan.lengths.assign(lengths.begin(), lengths.end());
  plan.distances.tops.assign(tops.begin(), tops.end());
  for (const std::int64_t top : tops) plan.distances.bounded.push_back(bounded.contains(top));
  plan.distances.draws = s.draws;
  plan.common_from = *std::max_element(s.tops.begin(), s.tops.end());
  if (s.wants(Analysis::separability)) plan.separability_tops = s.separability_tops;
  if (s.wants(Analysis::gradient)) plan.gradient = s.gradient;
  plan.seed = s.seed;
  return plan;
}

}  // namespace sharpmax::audit
