#include "audit/fix/fix_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "job/json_members.h"
#include "job/saved_results.h"
#include "model/job/model_request.h"
#include "model/transformer/normalizer_table.h"
#include "sharpmax/perplexity.h"  // kRunLength

namespace sharpmax {
namespace audit {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;

Json outcome_json(const Outcome& outcome) {
  Json runs = Json::array(), right = Json::array();
  for (const TextRun& run : outcome.runs) runs.push_back({run.from, run.tokens, run.loss});
  for (const auto& answers : outcome.right) {
    std::string marks;  // one character per question keeps files small
    for (const bool is_right : answers) marks += is_right ? '1' : '0';
    right.push_back(std::move(marks));
  }
  return {{"runs", std::move(runs)}, {"right", std::move(right)}};
}

Outcome outcome_in(const Json& json) {
  Outcome outcome;
  for (const Json& run : json.at("runs")) {
    TextRun& read = outcome.runs.emplace_back();
    read_json(run.at(0), read.from);
    read_json(run.at(1), read.tokens);
    read_json(run.at(2), read.loss);
    if (read.from < 0 || read.from > kMostTokens || read.tokens < 1 || read.tokens > kRunLength)
      throw Error(ErrorCode::bad_file, fmt::format("a run of {} tokens from {} on; it must have 1 to {}", read.tokens,
                                                   read.from, kRunLength));
  }
  for (const Json& marks : json.at("right")) {
    std::vector<bool>& right = outcome.right.emplace_back();
    for (const char mark : marks.get<std::string>()) right.push_back(mark == '1');
  }
  return outcome;
}

}  // namespace audit

namespace {

using audit::outcome_json;

Json trial_json(const FixTrial& trial) {
  Json json{{"rule", trial.rule},
            {"searched", trial.searched},
            {"heads", trial.heads},
            {"rope_scaling", json_of(trial.rope_scaling)},
            {"normalizers", Json::parse(trial.normalizers)},
            {"tuning", outcome_json(trial.tuning)}};
  json["held_out"] = trial.held_out ? outcome_json(*trial.held_out) : Json();
  return json;
}

Json comparison_json(const FixComparison& comparison, const std::vector<std::optional<std::int64_t>>& lengths) {
  Json json{{"text", json_of(comparison.text)},
            {"by_position", json_of(comparison.buckets)},
            {"task", json_of(comparison.task)},
            {"by_length", Json::array()}};
  for (std::size_t i = 0; i < comparison.tasks.size(); ++i) {
    Json one{{"length", json_of(lengths.at(i))}};
    one.update(json_of(comparison.tasks[i]));
    json["by_length"].push_back(std::move(one));
  }
  return json;
}

Json judged_json(const FixResult& result, std::size_t place) {
  const FixTrial& trial = result.trials[place];
  const auto lengths = result.question_lengths();
  Json json = trial_json(trial);
  json["llama_cpp"] = json_of(trial.llama_cpp);
  json["score"] = result.score_of(place);
  json["against_nothing"]["tuning"] = comparison_json(result.on_tuning(place), lengths);
  if (trial.held_out) json["against_nothing"]["held_out"] = comparison_json(result.on_held_out(place), lengths);
  return json;
}

Json answer_json(const FixResult& result) {
  const std::size_t use = result.use();
  const auto chosen = result.chosen();
  Json json{{"verdict", result.verdict()}, {"leave_it", use == 0}};
  json["chosen"] = chosen ? Json(result.trials[*chosen].rule) : Json();
  json["use"] = result.trials[use].rule;
  if (const auto finding = result.finding()) json["finding"] = json_of(*finding);
  json["rope_scaling"] = json_of(result.trials[use].rope_scaling);
  json["llama_cpp"] = use == 0 ? Json() : json_of(result.trials[use].llama_cpp);
  return json;
}

// Complete results answer questions about every trial; these must have an answer.
void check_complete(const FixResult& result) {
  const auto wrong = [](const char* what) { throw Error(ErrorCode::bad_file, fmt::format("not complete results: {}", what)); };
  if (result.trials.empty() || !result.trials[0].held_out) wrong("the first trial has no held-out part");
  const std::size_t lengths = result.question_lengths().size();
  if (result.trials[0].tuning.right.size() != lengths || result.trials[0].held_out->right.size() != lengths)
    wrong("the questions are not of as many lengths as the settings have");
  std::optional<std::size_t> chosen;
  try {
    for (std::size_t i = 0; i < result.trials.size(); ++i)
      if (result.trials[i].held_out) result.on_held_out(i);
    chosen = result.chosen();
  } catch (const Error& error) {
    wrong(error.what());
  }
  if (chosen && !result.trials[*chosen].held_out) wrong("the chosen trial has no held-out part");
}

}  // namespace

namespace audit {

FixTrial fix_trial_of(const TriedRule& trial) {
  FixTrial out{.rule = trial.name,
               .searched = trial.searched,
               .heads = trial.table.changed,
               .normalizers = model::to_json(trial.table.normalizers).dump(),
               .tuning = trial.tuning,
               .held_out = trial.held_out};
  if (!trial.table.rope.empty()) out.rope_scaling = trial.table.rope;
  return out;
}

FixTrial fix_trial_in(const Json& json) {
  FixTrial trial;
  read_json(json.at("rule"), trial.rule);
  read_json(json.at("searched"), trial.searched);
  read_json(json.at("heads"), trial.heads);
  read_json(json.at("rope_scaling"), trial.rope_scaling);
  trial.normalizers = json.at("normalizers").dump();
  trial.tuning = outcome_in(json.at("tuning"));
  if (const Json& held_out = json.at("held_out"); !held_out.is_null()) trial.held_out = outcome_in(held_out);
  if (const auto setting = json.find("llama_cpp"); setting != json.end()) read_json(*setting, trial.llama_cpp);
  return trial;
}

TriedRule tried_rule_of(const FixTrial& trial, std::string_view name, std::int64_t layers, std::int64_t heads) {
  return {.name = trial.rule,
          .table = {.normalizers = model::parse_normalizer_table(trial.normalizers, name, layers, heads),
                    .rope = trial.rope_scaling.value_or(""),
                    .changed = trial.heads},
          .searched = trial.searched,
          .tuning = trial.tuning,
          .held_out = trial.held_out};
}

}  // namespace audit

Json to_json(const FixResult& result) {
  Json json = header_of(kFixSchema, result.provenance);
  json["settings"] = json_of(result.settings);
  json["complete"] = result.complete;
  if (result.complete) {
    json["answer"] = answer_json(result);
    json["survey"] = json_of(result.survey);
  }
  json["trials"] = Json::array();
  for (std::size_t i = 0; i < result.trials.size(); ++i)
    json["trials"].push_back(result.complete && i > 0 ? judged_json(result, i) : trial_json(result.trials[i]));
  return json;
}

FixResult fix_result(const Json& json) {
  return read_results(json, kFixSchema, [](const Json& results) {
    FixResult result{.provenance = provenance_in(results)};
    read_json(results.at("settings"), result.settings);
    read_json(results.at("complete"), result.complete);
    for (const Json& trial : results.at("trials")) result.trials.push_back(audit::fix_trial_in(trial));
    if (result.complete) {
      read_json(results.at("survey"), result.survey);
      check_complete(result);
    }
    return result;
  });
}

}  // namespace sharpmax
