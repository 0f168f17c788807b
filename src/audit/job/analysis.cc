// analyze_model(): measures every head in one pass; an AnalysisResult as JSON and back.
#include "sharpmax/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>

#include "audit/analysis/measure_model.h"
#include "audit/job/requests.h"
#include "base/numbers.h"
#include "job/field_values.h"
#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/job/model_request.h"
#include "storage/files.h"

namespace sharpmax {
namespace {

void check_together(const AnalysisRequest& request) {
  if (request.saving.resume)
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} excludes {}: an analysis cannot be resumed", named("analysis"), flagged("resume")));
  if (request.model.block != ModelRequest{}.block)
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} excludes {}: the rows of a layer are analyzed together",
                                                            named("analysis"), named("block")));
}

// Lengths that were not given are the authors', as far as the context goes.
audit::AnalysisSettings settings_of(const AnalysisRequest& request, std::int64_t context) {
  const AnalysisChoices& choices = request.choices;
  audit::AnalysisSettings s;
  s.analyses = audit::parse_analyses(choices.analysis);
  s.vectors = choices.vectors == "hidden" ? audit::Vectors::hidden : audit::Vectors::values;
  s.reading = choices.distance == "norm" ? audit::Reading::norm : audit::Reading::sum;
  const auto within = [&](std::int64_t length) { return length <= s.length; };
  if (request.lengths.empty()) {
    s.length = std::min(s.length, context);
    std::erase_if(s.lengths, std::not_fn(within));
  } else {
    s.lengths = request.lengths;
    s.length = *std::max_element(s.lengths.begin(), s.lengths.end());
  }
  if (choices.critical_lengths.empty())
    std::erase_if(s.critical_lengths, std::not_fn(within));
  else
    s.critical_lengths = choices.critical_lengths;
  for (auto* const lengths : {&s.lengths, &s.critical_lengths})
    if (lengths->empty()) lengths->push_back(s.length);
  if (!choices.tops.empty()) s.tops = choices.tops;
  s.chunks = choices.chunks;
  s.length_top = choices.length_top;
  s.critical_most = choices.critical_most;
  s.subsets = choices.subsets;
  s.level = choices.level;
  s.draws = choices.draws;
  s.seed = choices.seed;
  return s;
}

// With the lists that were used.
AnalysisChoices choices_of(const AnalysisRequest& request, const audit::AnalysisSettings& used) {
  AnalysisChoices choices = request.choices;
  choices.tops = used.tops;
  choices.critical_lengths = used.critical_lengths;
  choices.chunks = used.chunks;
  return choices;
}

}  // namespace

AnalysisResult analyze_model(const AnalysisRequest& request, Listener& listener) {
  check_fields(request);
  check_together(request);
  files_of(request, request.saving.overwrite, kAuditSchema).check();
  audit::parse_analyses(request.choices.analysis);  // wrong names are known before a model is opened
  const auto model = model::shared_model(request.model);
  const std::vector<model::Token> text = model::tokens_of(*model, request.text, 2);
  const std::int64_t before = model::tokens_before_text(*model);
  audit::AnalyzedText analyzed{text, {}};
  if (before > 0) analyzed.begin = model->tokenizer().ends().begin;
  std::vector<std::string> notes;
  const std::int64_t context = request.model.context.value_or(model->configuration().context);
  const auto settings =
      audit::fitted(settings_of(request, context), {static_cast<std::int64_t>(text.size()), before}, notes);
  for (const std::string& note : notes) listener.narrate(note);

  ModelRequest whole = request.model;
  whole.block = settings.length;  // the rows of a layer are analyzed together
  const auto session = model::open_session(*model, whole, settings.length, listener);
  AnalysisResult result{.provenance = provenance_of(request.command, command_of("audit", request)),
                        .settings = {.model = model::settings_of(*model, request.model, listener),
                                     .text = model::text_settings(request.text, static_cast<std::int64_t>(text.size())),
                                     .lengths = settings.lengths,
                                     .choices = choices_of(request, settings)}};
  const auto save = [&] {
    if (!request.saving.json.empty()) write_text(request.saving.json, results_text(to_json(result)));
  };
  save();  // a file that cannot be written is known now, not after the work
  listener.on_resumption({false, "an analysis cannot be resumed, and what it measured so far is lost"});
  std::mutex one_at_a_time;  // pauses come from all threads of the analysis
  const auto start = std::chrono::steady_clock::now();
  const auto tell = [&](double done) {
    listener.proceed(fmt::format("{:.0f} % of the heads, {} left", 100 * done,
                                     duration(seconds_since(start) * (1 - done) / done)));
  };
  audit::HeadMeasurements found = audit::measure_heads(*session, analyzed, settings, request.model.threads.value_or(0), tell,
                                                       [&] {
                                                         const std::lock_guard lock(one_at_a_time);
                                                         listener.on_pause();
                                                       });
  listener.on_progress("");
  found.notes = notes;
  result.seconds = std::round(seconds_since(start) * 100) / 100;
  result.analysis = audit::findings_of(found);
  save();
  return result;
}

Json to_json(const AnalysisResult& result) {
  Json json = header_of(kAuditSchema, result.provenance);
  json["settings"] = json_of(result.settings);
  json["complete"] = result.complete();
  if (result.seconds) json["seconds"] = *result.seconds;
  if (result.analysis) json["analysis"] = audit::to_json(*result.analysis);
  return json;
}

AnalysisResult analysis_result(const Json& json) {
  return read_results(json, kAuditSchema, [](const Json& results) {
    check_form(results, AuditForm::analysis);
    AnalysisResult result{.provenance = provenance_in(results)};
    read_json(results.at("settings"), result.settings);
    if (results.contains("seconds")) read_json(results.at("seconds"), result.seconds);
    if (results.at("complete").get<bool>()) result.analysis = audit::analysis_findings_in(results.at("analysis"));
    return result;
  });
}

}  // namespace sharpmax
