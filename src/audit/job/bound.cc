// The jobs bound() and bound_model().
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string_view>

#include "audit/certificate/certificate.h"
#include "base/numbers.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/job/model_request.h"
#include "normalizer/definition.h"
#include "sharpmax/bound.h"
#include "sharpmax/job.h"
#include "storage/files.h"
#include "theory/arguments.h"
#include "theory/dispersion.h"
#include "theory/peak_range.h"

namespace sharpmax {

// Fields of a request held to the domains of the theory, which know open ends.

// Throws RequestError{bad_argument} unless the value is finite and in the domain.
inline void require_field(std::string_view field, double value, const theory::Domain& domain) {
  if (!std::isfinite(value) || !domain.contains(value))
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} is {}; it must be {}", named(field), value, domain.words));
}

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

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestText = 1e6;  // tokens: as long as the contexts on offer

AttainedToken attained_token(const model::Model& model, model::Token token) { return {token, model::token_text(model, token), {}}; }

AttainedToken attained_key(const model::Model& model, model::Token token, std::int64_t offset) {
  return {token, model::token_text(model, token), offset};
}

HeadBound bound_of(const model::Model& model, const audit::HeadCertificate& head, const ModelBoundResult& result) {
  const double spread = head.spread();
  const double log_length = std::isfinite(spread) ? theory::log_sharp_length(spread, result.peak, result.beta) : spread;
  const double most = head.window > 0 ? static_cast<double>(head.window) : result.horizon;
  HeadBound bound{.layer = head.layer,
                  .head = head.head,
                  .norm_spread = head.norm_spread,
                  .norm_reached = head.norm_reached,
                  .vocabulary_spread = head.vocabulary_spread,
                  .spread = spread,
                  .log10_length = log_length / std::numbers::ln10,
                  .useful = log_length < std::log(most)};
  if (head.window > 0) bound.window = head.window;
  if (const auto& row = head.attained)
    bound.attained = AttainedRow{.length = row->length,
                                 .spread = row->spread,
                                 .peak = row->peak,
                                 .query = attained_token(model, row->query),
                                 .high = attained_key(model, row->high, row->high_offset),
                                 .low = attained_key(model, row->low, row->low_offset)};
  return bound;
}

// The first sentence of the verdict: what is proved, and for how many heads.
std::string proved_sentence(const ModelBoundResult& result) {
  std::vector<double> others;  // spreads of heads whose bound is not useful
  bool astronomic = false;
  for (const HeadBound& head : result.heads)
    if (!head.useful) {
      others.push_back(head.spread);
      astronomic = astronomic || head.log10_length > std::log10(result.horizon);
    }
  std::sort(others.begin(), others.end());
  const std::size_t heads = result.heads.size(), useful = heads - others.size();
  const std::string claim = fmt::format(
      "the weights alone prove a length within {} tokens from which no input can give any key more than {:g} of "
      "the weight",
      grouped(std::llround(result.horizon)), result.peak);
  if (others.empty()) return fmt::format("For every one of the {} heads {}.", heads, claim);
  const std::string nothing = fmt::format(
      "the bound says nothing useful: it allows spreads of {} to {}, and so lengths that {}", one_decimal(others.front()),
      one_decimal(others.back()), astronomic ? "are astronomic" : "no window has");
  if (useful == 0) return fmt::format("For all {} heads {}.", heads, nothing);
  return fmt::format("For {} of {} heads {}; for the other {} {}.", useful, heads, claim, others.size(), nothing);
}

// The second: how much of that is slack.
std::string attained_sentence(const ModelBoundResult& result, const model::Configuration& c) {
  std::int64_t heads = 0, sharp = 0, length = 0;
  for (const HeadBound& head : result.heads)
    if (head.attained) {
      ++heads;
      sharp += head.attained->peak > result.peak;
      length = std::max(length, head.attained->length);
    }
  if (heads == 0 && c.query_key_norm != model::QueryKeyNorm::none)
    return fmt::format("Queries and keys are normalized{}, and the weights of these norms bound every head.",
                       c.query_key_norm == model::QueryKeyNorm::width ? ", all heads together" : "");
  if (heads == 0 && c.rope.features > 0)
    return "Positions do not enter layer 0, so its heads, too, are bounded by norms alone.";
  if (heads == 0)
    return "Positions are learned and enter layer 0 with the tokens, so its heads, too, are bounded by norms "
           "alone.";
  return fmt::format(
      "In layer 0, where tokens can be tried, sequences of them were found that still give one key more than "
      "{:g} of the weight at {} tokens in {} of {} heads{}",
      result.peak, grouped(length), sharp, heads,
      sharp > 0 ? ": of those no bound, however tight, could promise otherwise." : ".");
}

// Members after "model".
template <class Result, class Visit>
void each_member_after_model(Result& result, const Visit& visit) {
  visit.fields(result);
  visit("horizon", result.horizon);
  visit("seconds", result.seconds);
  visit("verdict", result.verdict);
  visit("heads", result.heads);
}

}  // namespace

ModelBoundResult bound_model(const ModelBoundRequest& request, Listener& listener) {
  check_fields(request);
  require_field("peak", request.peak, theory::kShare);
  require_field("beta", request.beta, theory::kPositive);
  files_of(request, request.file.overwrite, kModelBoundSchema).check();
  listener.on_resumption(
      {false, fmt::format("bound has no {}, and the bounds found so far are lost", named("resume")), {}});
  const auto model = model::shared_model(request.model);
  ModelBoundResult result{.provenance = provenance_of(request.command, command_of("bound", request)),
                          .model = model::settings_of(*model, request.model, listener),
                          .peak = request.peak,
                          .beta = request.beta,
                          .horizon = std::max(kLongestText, static_cast<double>(model->configuration().context))};
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  audit::CertificateSettings settings{.beta = request.beta, .threads = request.model.threads.value_or(0)};
  settings.progress = [&](double share) {
    listener.proceed(fmt::format("{:.0f} % of the bounds, {} left", 100.0 * share,
                                     duration(seconds() * (1.0 - share) / std::max(share, 1e-9))));
  };
  for (const audit::HeadCertificate& head : audit::certify_heads(*model, settings))
    result.heads.push_back(bound_of(*model, head, result));
  result.seconds = seconds();
  listener.on_progress("");
  result.verdict = proved_sentence(result) + " " + attained_sentence(result, model->configuration());
  if (!request.file.json.empty()) write_text(request.file.json, results_text(to_json(result)));
  return result;
}

Json to_json(const ModelBoundResult& result) {
  Json json = header_of(kModelBoundSchema, result.provenance);
  ModelSettings::each_fact(result.model, internal::Writer{json["model"]});
  each_member_after_model(result, internal::Writer{json});
  return json;
}

ModelBoundResult model_bound_result(const Json& json) {
  return read_results(json, kModelBoundSchema, [](const Json& results) {
    ModelBoundResult result{.provenance = provenance_in(results)};
    ModelSettings::each_fact(result.model, internal::Reader{results.at("model")});
    each_member_after_model(result, internal::Reader{results});
    return result;
  });
}

}  // namespace sharpmax
