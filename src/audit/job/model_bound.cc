#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "audit/certificate/certificate.h"
#include "audit/job/require_field.h"
#include "job/call_files.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "job/words.h"
#include "model/job/model_request.h"
#include "model/job/text_request.h"
#include "sharpmax/bound.h"
#include "storage/files.h"
#include "theory/dispersion.h"

namespace sharpmax {
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
std::string attained_sentence(const ModelBoundResult& result) {
  std::int64_t heads = 0, sharp = 0, length = 0;
  for (const HeadBound& head : result.heads)
    if (head.attained) {
      ++heads;
      sharp += head.attained->peak > result.peak;
      length = std::max(length, head.attained->length);
    }
  if (heads == 0)
    return "Positions are learned and enter layer 0 with the tokens, so its heads, too, are bounded by norms "
           "alone.";
  return fmt::format(
      "In layer 0, where tokens can be tried, sequences of them were found that still give one key more than "
      "{:g} of the weight at {} tokens in {} of {} heads{}",
      result.peak, grouped(length), sharp, heads,
      sharp > 0 ? ": of those no bound, however tight, could promise otherwise." : ".");
}

// Members of "model".
template <class Settings, class Visit>
void each_model_member(Settings& s, const Visit& visit) {
  visit("file", s.file);
  visit("sha256", s.sha256);
  visit("architecture", s.architecture);
  visit("layers", s.layers);
  visit("heads", s.heads);
  visit("kv_heads", s.kv_heads);
  visit("head_width", s.head_width);
  visit("width", s.width);
  visit("vocabulary", s.vocabulary);
  visit("trained_context", s.trained_context);
}

// The others, after it.
template <class Result, class Visit>
void each_other_member(Result& result, const Visit& visit) {
  visit("peak", result.peak);
  visit("beta", result.beta);
  visit("rope_scaling", result.model.rope_scaling);
  visit("rope_base", result.model.rope_base);
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
  result.verdict = proved_sentence(result) + " " + attained_sentence(result);
  if (!request.file.json.empty()) write_text(request.file.json, results_text(to_json(result)));
  return result;
}

Json to_json(const ModelBoundResult& result) {
  Json json = header_of(kModelBoundSchema, result.provenance);
  Json& model = json["model"] = Json::object();
  each_model_member(result.model, internal::Writer{model});
  each_other_member(result, internal::Writer{json});
  return json;
}

ModelBoundResult model_bound_result(const Json& json) {
  return read_results(json, kModelBoundSchema, [](const Json& results) {
    ModelBoundResult result{.provenance = provenance_in(results)};
    each_model_member(result.model, internal::Reader{results.at("model")});
    each_other_member(result, internal::Reader{results});
    return result;
  });
}

}  // namespace sharpmax
