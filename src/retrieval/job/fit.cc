#include "sharpmax/fit.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "retrieval/fit/temperature_fit.h"
#include "retrieval/job/requests.h"
#include "retrieval/run/run.h"
#include "retrieval/training/training.h"

namespace sharpmax {
namespace {

// A line for each of the two phases, each with the time that it has left.
class FitProgress {
 public:
  explicit FitProgress(Listener& listener) : listener_(listener) {}
  void show(const char* phase, std::int64_t done, std::int64_t of) {
    constexpr auto kInterval = std::chrono::milliseconds(100);
    const auto now = Clock::now();
    if (phase != phase_) {
      phase_ = phase;
      began_ = now;
      before_ = done;
    } else if (now - told_ < kInterval) {
      return;
    }
    told_ = now;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const auto gone = static_cast<double>(done - before_), left = static_cast<double>(of - done);
    listener_.proceed(fmt::format("{}: {:.0f} %, {} left", phase,
                                      100.0 * static_cast<double>(done) / static_cast<double>(of),
                                      duration(gone > 0.0 ? seconds * left / gone : std::nan(""))));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Listener& listener_;
  const char* phase_ = nullptr;
  std::int64_t before_ = 0;
  Clock::time_point began_, told_;
};

FitSettings settings_of(const FitRequest& request) {
  constexpr double kSets = 1024;  // of each size, at scale 1
  const std::int64_t sets = std::max<std::int64_t>(1, std::llround(request.sets_scale * kSets));
  return {request, sets, sets};
}

retrieval::TemperatureFit carry_out(const retrieval::Head& head, const FitSettings& settings, int threads, Listener& listener) {
  static constexpr const char *kFitting = "looking for the best temperatures", *kComparing = "comparing";
  FitProgress progress(listener);
  const retrieval::TemperatureFitRequest request{
      .sizes = settings.sizes,
      .sets = settings.sets,
      .use = settings.only == "wrong" ? retrieval::FitSets::wrong : retrieval::FitSets::mended,
      .degree = settings.degree,
      .least_beta = settings.least_beta,
      .largest_beta = settings.largest_beta,
      .comparison_sizes = settings.test_sizes,
      .comparison_sets = settings.test_sets,
      .progress = [&](std::int64_t done, std::int64_t of) { progress.show(kFitting, done, of); },
      .comparison_progress = [&](std::int64_t done, std::int64_t of) { progress.show(kComparing, done, of); }};
  try {
    return retrieval::fit_temperature(head, request, {.threads = threads});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw RequestError(error.code(), fmt::format("{} ({}, {}, {})", error.what(), named("sizes"), named("sets_scale"),
                                                 named("degree")));
  }
}

std::pair<double, double> pair_of(const Interval& interval) { return {interval.low, interval.high}; }

FitPolynomial polynomial_of(const std::vector<double>& polynomial, double rms_residual, const std::vector<Interval>& sharpens) {
  const Adaptive rule{.polynomial = polynomial};
  FitPolynomial result{.normalizer = AnyNormalizer(rule).text(),
                       .polynomial = polynomial,
                       .threshold = rule.threshold,
                       .rms_residual = rms_residual};
  for (const Interval& interval : sharpens) result.above_one.push_back(pair_of(interval));
  return result;
}

FitBin bin_of(const retrieval::ResidualBin& bin, const retrieval::TemperatureFit& found) {
  const double middle = 0.5 * (bin.entropy.low + bin.entropy.high);
  return {.entropy = pair_of(bin.entropy),
          .points = bin.points,
          .mean_beta = bin.mean_beta,
          .mean_residual = bin.mean_residual,
          .rms_residual = bin.rms_residual,
          .refitted = retrieval::value_of(found.fit.polynomial, middle),
          .published = retrieval::value_of(found.published, middle)};
}

// The share of the variance of the best betas that the refitted polynomial accounts for.
double explained(const retrieval::TemperatureFit& found) {
  const auto count = static_cast<double>(found.points.size());
  double mean = 0.0, variance = 0.0;
  for (const FitPoint& p : found.points) mean += p.beta / count;
  for (const FitPoint& p : found.points) variance += (p.beta - mean) * (p.beta - mean) / count;
  return variance > 0.0 ? 1.0 - found.fit.rms_residual * found.fit.rms_residual / variance : 0.0;
}

FitComparison comparison_of(const retrieval::Measurement& m, const char* rule) {
  FitComparison comparison;
  static_cast<MeasuredNormalizer&>(comparison) = retrieval::measured(m);
  comparison.rule = rule;
  comparison.normalizer = m.normalizer;
  return comparison;
}

FitResult result_of(const retrieval::TemperatureFit& found) {
  FitResult result{.counts = found.counts,
                   .points = static_cast<std::int64_t>(found.points.size()),
                   .at_least_beta = found.at_least_beta,
                   .at_largest_beta = found.at_largest_beta,
                   .entropy = pair_of(found.fit.entropy),
                   .explained = explained(found),
                   .looked_at = pair_of(found.looked_at),
                   .refitted = polynomial_of(found.fit.polynomial, found.fit.rms_residual, found.sharpens),
                   .published = polynomial_of(found.published, found.published_rms_residual, found.published_sharpens),
                   .fitted = found.points};
  for (const retrieval::ResidualBin& bin : found.fit.bins) result.bins.push_back(bin_of(bin, found));
  constexpr const char* kRules[] = {"softmax", "published", "refitted", "entropy_target"};  // in TemperatureFit's order
  for (const retrieval::Evaluation& evaluation : found.comparison)
    for (std::size_t i = 0; i < evaluation.measurements.size(); ++i)
      result.comparison.push_back(comparison_of(evaluation.measurements[i], kRules[i]));
  return result;
}

FittedHead head_of(const std::string& file, const retrieval::Head& head) {
  return {.file = file,
          .arm = head.arm,
          .seed = head.seed,
          .normalizer = head.normalizer().text(),
          .classes = head.training.classes,
          .largest_size = head.training.largest_size};
}

}  // namespace

CallFiles retrieval::files_of(const FitRequest& request, bool overwrite) {
  CallFiles call(overwrite);
  call.reads(operand("head"), request.head);
  return call;
}

FitResult fit(const FitRequest& request, Listener& listener) {
  check_fields(request);
  if (request.head.empty())
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("no {} was given; `sharpmax retrieve --arms paper` trains one and keeps it as "
                                   "retrieve-quick/heads/paper-0.safetensors",
                                   operand("head")));
  const retrieval::Head head = retrieval::load_head(request.head);
  listener.on_resumption({false, fmt::format("fit has no {}, and what it fitted so far is lost", flagged("resume")), ""});
  const auto began = std::chrono::steady_clock::now();
  const FitSettings settings = settings_of(request);
  FitResult result = result_of(carry_out(head, settings, request.threads.value_or(0), listener));
  listener.on_progress("");
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.provenance = provenance_of(request.command, command_of("fit", request));
  result.head = head_of(request.head, head);
  result.settings = settings;
  return result;
}

Json to_json(const FitResult& result) {
  Json json = header_of(kFitSchema, result.provenance);
  FitResult::each_member(result, internal::Writer{json});
  return json;
}

FitResult fit_result(const Json& json) {
  return read_results(json, kFitSchema, [](const Json& results) {
    FitResult result{.provenance = provenance_in(results)};
    FitResult::each_member(result, internal::Reader{results});
    return result;
  });
}

std::string to_csv(const FitResult& result) {
  std::string out = std::string(retrieval::kFitCsvHeader) + "\n";
  for (const FitPoint& p : result.fitted)
    out += fmt::format("{},{},{},{},{},{},{}\n", p.n, p.set, p.entropy, p.beta, p.loss, p.best_loss, p.mended ? 1 : 0);
  return out;
}

}  // namespace sharpmax
