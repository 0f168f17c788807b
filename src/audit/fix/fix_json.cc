#include "audit/fix/fix_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/transformer/normalizer_table.h"

namespace sharpmax::audit {
namespace {

using Json = nlohmann::ordered_json;

Json outcome_json(const Outcome& outcome) {
  Json runs = Json::array(), right = Json::array();
  for (const TextRun& run : outcome.runs) runs.push_back({run.from, run.tokens, run.loss});
  for (const auto& answers : outcome.right) {
    std::string marks;  // a character a question keeps files small
    for (const bool is_right : answers) marks += is_right ? '1' : '0';
    right.push_back(std::move(marks));
  }
  return {{"runs", std::move(runs)}, {"right", std::move(right)}};
}

Outcome outcome_in(const Json& json) {
  Outcome outcome;
  for (const Json& run : json.at("runs")) {
    // JSON has no NaN: it was written as null.
    const Json& loss = run.at(2);
    outcome.runs.push_back({run.at(0).get<std::int64_t>(), run.at(1).get<std::int64_t>(),
                            loss.is_null() ? std::numeric_limits<double>::quiet_NaN() : loss.get<double>()});
  }
  for (const Json& marks : json.at("right")) {
    std::vector<bool>& right = outcome.right.emplace_back();
    for (const char mark : marks.get<std::string>()) right.push_back(mark == '1');
  }
  return outcome;
}

Json change_json(const LossChange& c) {
  return {{"from", c.from},     {"to", c.to},   {"tokens", c.tokens}, {"plain", c.plain},
          {"change", c.change}, {"low", c.low}, {"high", c.high}};
}

Json flips_json(const Flips& f) {
  return {{"questions", f.questions}, {"plain", f.plain}, {"rule", f.rule}, {"up", f.up},
          {"down", f.down},           {"p", f.p}};
}

}  // namespace

Json to_json(const TriedRule& trial) {
  Json json{{"rule", trial.name},
            {"searched", trial.searched},
            {"heads", trial.table.changed},
            {"rope_scaling", trial.table.rope.empty() ? Json() : Json(trial.table.rope)},
            {"normalizers", model::to_json(trial.table.normalizers)},
            {"tuning", outcome_json(trial.tuning)}};
  json["held_out"] = trial.held_out ? outcome_json(*trial.held_out) : Json();
  return json;
}

TriedRule tried_rule_in(const Json& json, std::string_view name, std::int64_t layers, std::int64_t heads) {
  const Json& rope = json.at("rope_scaling");
  TriedRule trial{.name = json.at("rule").get<std::string>(),
                  .table = {.normalizers = model::parse_normalizer_table(json.at("normalizers").dump(), name,
                                                                         layers, heads),
                            .rope = rope.is_null() ? "" : rope.get<std::string>(),
                            .changed = json.at("heads").get<std::int64_t>()},
                  .searched = json.at("searched").get<bool>(),
                  .tuning = outcome_in(json.at("tuning"))};
  if (!json.at("held_out").is_null()) trial.held_out = outcome_in(json.at("held_out"));
  return trial;
}

Json to_json(const Comparison& comparison, const std::vector<TaskSet>& tasks) {
  Json json{{"text", change_json(comparison.text)}, {"by_position", Json::array()}};
  for (const LossChange& change : comparison.buckets) json["by_position"].push_back(change_json(change));
  json["task"] = flips_json(comparison.task);
  json["by_length"] = Json::array();
  for (std::size_t i = 0; i < comparison.tasks.size(); ++i) {
    Json one{{"length", tasks[i].length == 0 ? Json() : Json(tasks[i].length)}};
    one.update(flips_json(comparison.tasks[i]));
    json["by_length"].push_back(std::move(one));
  }
  return json;
}

Json to_json(const HeadSurvey& survey) {
  Json kinds = Json::array(), slopes = Json::array(), entropies = Json::array();
  for (const SurveyedHead& head : survey.all) {
    kinds.push_back(name_of(head.kind));
    slopes.push_back(head.slope);
    entropies.push_back(head.short_entropy);
  }
  return {{"layers", survey.layers},
          {"heads", survey.heads},
          {"kind", std::move(kinds)},
          {"entropy_slope", std::move(slopes)},
          {"short_entropy", std::move(entropies)}};
}

}  // namespace sharpmax::audit
