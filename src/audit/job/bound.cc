// The job bound().
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "audit/job/requests.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "normalizer/definition.h"
#include "sharpmax/bound.h"
#include "sharpmax/job.h"
#include "storage/files.h"
#include "theory/dispersion.h"
#include "theory/peak_range.h"

namespace sharpmax {

namespace {

constexpr double kUsualPeak = 0.5;  // its loss under softmax is always part of the results

[[noreturn]] void refuse_bound(const std::string& sentence) { throw RequestError(ErrorCode::bad_argument, sentence); }

constexpr theory::Domain kKeys{"a whole number of keys from 1 to 1e300",
                               [](double n) { return n >= 1.0 && n == std::floor(n) && n <= theory::kMostKeys; }};

void check_bound(const BoundRequest& request) {
  constexpr std::size_t kMostSizes = 64;
  check_fields(request);
  if (!request.spread) refuse_bound(fmt::format("no spread was given; give {} or {}", given("spread", "X"), named("model")));
  require_field("spread", *request.spread, theory::kNotNegative);
  require_field("beta", request.beta, theory::kPositive);
  if (request.level) require_field("level", *request.level, theory::kAnyNumber);
  if (request.peak) require_field("peak", *request.peak, theory::kShare);
  if (request.n.empty() || request.n.size() > kMostSizes)
    refuse_bound(fmt::format("{} has {} numbers; it must have 1 to {}", named("n"), request.n.size(), kMostSizes));
  for (const double n : request.n) require_field("n", n, kKeys);
}

theory::ScoreInterval scores_of(const BoundRequest& request) {
  const double low = request.level.value_or(-0.5 * *request.spread);
  const theory::ScoreInterval scores{request.beta * low, request.beta * (low + *request.spread)};
  if (!std::isfinite(scores.spread()))
    refuse_bound(fmt::format("{} times {} is beyond what a double holds", named("spread"), named("beta")));
  return scores;
}

AnyNormalizer bounded_normalizer(const std::string& text) {
  AnyNormalizer normalizer = AnyNormalizer::parse(text);
  try {
    check_heads(normalizer, 1, "bound");
  } catch (const Error&) {
    refuse_bound(fmt::format("{}: a bound is of one head; each parameter must have one value",
                       named("normalizer", normalizer.text())));
  }
  return normalizer;
}

std::vector<AnyNormalizer> bounded_normalizers(const BoundRequest& request) {
  std::vector<AnyNormalizer> chosen;
  if (request.normalizer.empty() || request.normalizer == std::vector<std::string>{"all"}) {
    for (const NormalizerInfo& member : family()) chosen.emplace_back(member.name);
    return chosen;
  }
  for (const std::string& text : request.normalizer) {
    AnyNormalizer normalizer = bounded_normalizer(text);
    if (std::find(chosen.begin(), chosen.end(), normalizer) != chosen.end())
      refuse_bound(fmt::format("{} is given twice", named("normalizer", normalizer.text())));
    chosen.push_back(std::move(normalizer));
  }
  return chosen;
}

BoundRange range_of(const theory::Range& range) { return {range.low, range.high}; }

PeakBound peak_bound(const theory::PeakRange& range, double n) {
  return {.n = n,
          .share = range_of(range.share),
          .untied_low = range.untied_low,
          .ceiling = range.ceiling,
          .weight = range_of(range.weight),
          .found_by = range.knowledge == theory::Knowledge::search ? "search" : "closed form",
          .sums_to_one = range.sums_to_one,
          .moves_with_level = range.moves_with_level};
}

NormalizerBounds bounds_of(const AnyNormalizer& normalizer, const BoundRequest& request,
                           const theory::ScoreInterval& scores) {
  NormalizerBounds bounds{.normalizer = normalizer.text()};
  try {
    for (const double n : request.n) bounds.ranges.push_back(peak_bound(theory::peak_range(normalizer, n, scores), n));
    if (request.peak) {
      const theory::PeakLoss loss = theory::peak_loss(normalizer, *request.peak, scores);
      bounds.loss = {loss.lost, loss.regained, loss.sure};
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    bounds = {.normalizer = normalizer.text(), .refused = error.what()};
  }
  return bounds;
}

SoftmaxLoss softmax_loss(double spread, double peak) {
  return {peak, theory::log_sharp_length(spread, peak) / std::numbers::ln10,
          theory::log_dispersion_length(spread, peak) / std::numbers::ln10};
}

}  // namespace

BoundResult bound(const BoundRequest& request, Listener& listener) {
  check_bound(request);
  files_of(request, request.file.overwrite, kBoundSchema).check();
  const theory::ScoreInterval scores = scores_of(request);
  BoundResult result{.provenance = provenance_of(request.command, command_of("bound", request)),
                     .spread = *request.spread,
                     .beta = request.beta,
                     .peak = request.peak,
                     .level = request.level,
                     .scores = {scores.bottom, scores.top},
                     .softmax_lost = softmax_loss(scores.spread(), request.peak.value_or(kUsualPeak))};
  for (const double n : request.n)
    result.softmax.push_back({n, range_of(theory::dispersion_bound(scores.spread(), n)),
                              range_of(theory::dispersion_range(scores.spread(), n))});
  for (const AnyNormalizer& normalizer : bounded_normalizers(request)) {
    listener.on_pause();
    result.normalizers.push_back(bounds_of(normalizer, request, scores));
  }
  if (result.normalizers.size() == 1 && result.normalizers[0].refused)
    throw Error(ErrorCode::bad_argument, *result.normalizers[0].refused);
  if (!request.file.json.empty()) write_text(request.file.json, results_text(to_json(result)));
  return result;
}

Json to_json(const BoundResult& result) {
  Json json = header_of(kBoundSchema, result.provenance);
  json.update(json_of(result));
  return json;
}

BoundResult bound_result(const Json& json) {
  return read_results(json, kBoundSchema, [](const Json& results) {
    BoundResult result{.provenance = provenance_in(results)};
    read_json(results, result);
    return result;
  });
}

}  // namespace sharpmax
