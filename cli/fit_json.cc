// What a fit found, as JSON (schema sharpmax.fit/1, docs/command-line.md) and as CSV.
#include <fmt/format.h>

#include <cmath>

#include "cli/fit.h"
#include "retrieval/run/results.h"

namespace sharpmax::cli {
namespace {

using namespace retrieval;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json pair_of(const Interval& interval) { return {interval.low, interval.high}; }

Json settings_json(const FitRequest& request) {
  return {{"degree", request.degree},
          {"sizes", request.sizes},
          {"sets", request.sets},
          {"only", request.use == FitSets::wrong ? "wrong" : "mended"},
          {"least_beta", request.least_beta},
          {"largest_beta", request.largest_beta},
          {"test_sizes", request.comparison_sizes},
          {"test_sets", request.comparison_sets}};
}

Json polynomial_json(const std::vector<double>& polynomial, double rms_residual,
                     const std::vector<Interval>& sharpens) {
  const Adaptive rule{.polynomial = polynomial};
  Json where = Json::array();
  for (const Interval& interval : sharpens) where.push_back(pair_of(interval));
  return {{"normalizer", AnyNormalizer(rule).text()},
          {"polynomial", polynomial},
          {"threshold", rule.threshold},
          {"rms_residual", number(rms_residual)},
          {"above_one", where}};
}

Json bin_json(const ResidualBin& bin, const FitResult& result) {
  const double middle = 0.5 * (bin.entropy.low + bin.entropy.high);
  return {{"entropy", pair_of(bin.entropy)},
          {"points", bin.points},
          {"mean_beta", number(bin.mean_beta)},
          {"mean_residual", number(bin.mean_residual)},
          {"rms_residual", number(bin.rms_residual)},
          {"refitted", number(value_of(result.fit.polynomial, middle))},
          {"published", number(value_of(result.published, middle))}};
}

// The share of the variance of the best betas that the refitted polynomial accounts for.
double explained(const FitResult& result) {
  const auto count = static_cast<double>(result.points.size());
  double mean = 0.0, variance = 0.0;
  for (const FitPoint& p : result.points) mean += p.beta / count;
  for (const FitPoint& p : result.points) variance += (p.beta - mean) * (p.beta - mean) / count;
  return variance > 0.0 ? 1.0 - result.fit.rms_residual * result.fit.rms_residual / variance : 0.0;
}

Json comparison_json(const Measurement& m, const char* rule) {
  Json json = {{"rule", rule}, {"normalizer", m.normalizer}};
  json.update(measured_json(m));
  return json;
}

}  // namespace

Json fit_json(const Head& head, const std::string& file, const FitRequest& request, const FitResult& result) {
  Json counts = Json::array(), bins = Json::array(), comparison = Json::array();
  for (const SizeCount& c : result.counts)
    counts.push_back({{"n", c.n}, {"sets", c.sets}, {"wrong", c.wrong}, {"mended", c.mended}});
  for (const ResidualBin& bin : result.fit.bins) bins.push_back(bin_json(bin, result));
  constexpr const char* kRules[] = {"softmax", "published", "refitted", "entropy_target"};  // FitResult's
  for (const Evaluation& evaluation : result.comparison)
    for (std::size_t i = 0; i < evaluation.measurements.size(); ++i)
      comparison.push_back(comparison_json(evaluation.measurements[i], kRules[i]));
  return {{"head",
           {{"file", file},
            {"arm", head.arm},
            {"seed", head.seed},
            {"normalizer", head.normalizer().text()},
            {"classes", head.training.classes},
            {"largest_size", head.training.largest_size}}},
          {"settings", settings_json(request)},
          {"counts", counts},
          {"points", result.points.size()},
          {"at_least_beta", result.at_least_beta},
          {"at_largest_beta", result.at_largest_beta},
          {"entropy", pair_of(result.fit.entropy)},
          {"explained", explained(result)},
          {"looked_at", pair_of(result.looked_at)},
          {"refitted", polynomial_json(result.fit.polynomial, result.fit.rms_residual, result.sharpens)},
          {"published",
           polynomial_json(result.published, result.published_rms_residual, result.published_sharpens)},
          {"bins", bins},
          {"comparison", comparison}};
}

std::string fit_csv(const FitResult& result) {
  std::string out = std::string(kFitCsvHeader) + "\n";
  for (const FitPoint& p : result.points)
    out += fmt::format("{},{},{},{},{},{},{}\n", p.n, p.set, p.entropy, p.beta, p.loss, p.best_loss,
                       p.mended ? 1 : 0);
  return out;
}

}  // namespace sharpmax::cli
