#include "retrieval/run/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "normalizer/definition.h"
#include "retrieval/run/published.h"
#include "retrieval/task/settings_json.h"
#include "statistics/significance.h"

namespace sharpmax::retrieval {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
double share(std::int64_t count, std::int64_t of) {
  return static_cast<double>(count) / static_cast<double>(of);
}

// The shortest decimal that is this float: its double would print digits that mean nothing.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

Json settings_json(const RunSettings& run) {
  Json json = json_of(run)["test"];
  Json sets = Json::object();
  for (const std::int64_t n : run.test.sizes) sets[fmt::format("{}", n)] = sets_at(n, run.test.sets_scale);
  json["sets"] = sets;
  json["seeds"] = run.seeds;
  return json;
}

Json head_json(const TestedHead& tested) {
  Json curve = Json::array();
  for (const auto& [step, loss] : tested.loss_curve) curve.push_back({step, number(loss)});
  const double half_lost = log10_half_lost_from(tested.spread.certified);
  return {{"arm", tested.head.arm},
          {"seed", tested.head.seed},
          {"file", tested.file.empty() ? Json() : Json(tested.file)},
          {"loss", tested.loss_curve.empty() ? Json() : number(tested.loss_curve.back().second)},
          {"loss_curve", curve},
          {"normalizer", tested.head.normalizer().text()},
          {"spread",
           {{"certified", number(tested.spread.certified)}, {"attained", number(tested.spread.attained)}}},
          {"half_lost_from_log10", number(half_lost)}};
}

// The lemma speaks of rules that are softmax at one temperature for every row of n keys.
Json weight_bound(const AnyNormalizer& normalizer, std::int64_t n, double certified) {
  const auto size = static_cast<double>(n);
  const Rule rule = normalizer.definition().rule(HeadParameters(normalizer.parameters(), 0), size);
  if (rule.kind != RuleKind::exponential || !(rule.beta >= 0.0)) return {};
  return number(largest_possible_weight(size, certified, rule.beta));
}

Json result_json(const TestedHead& tested, const Measurement& m, const AnyNormalizer& given,
                 std::int64_t violations) {
  const AnyNormalizer used = AnyNormalizer::parse(m.normalizer);
  Json json = {{"arm", tested.head.arm}, {"seed", tested.head.seed}, {"normalizer", given.text()}};
  json.update(measured_json(m));
  json.update({{"spread", number(m.spread)},
               {"hard_right_rule_right", m.hard_right_rule_right},
               {"hard_right_rule_wrong", m.hard_right_rule_wrong},
               {"hard_wrong_rule_right", m.hard_wrong_rule_right},
               {"hard_wrong_rule_wrong", m.hard_wrong_rule_wrong},
               {"largest_peak_weight", number(m.largest_peak_weight)},
               {"weight_bound", weight_bound(used, m.n, tested.spread.certified)},
               {"bound_violations", violations}});
  return json;
}

// One arm, one size, one normalizer over the seeds.
class OverSeeds {
 public:
  OverSeeds(const RunOutcome& outcome, const std::string& arm, std::size_t size, std::size_t normalizer) {
    for (const TestedHead& tested : outcome.heads)
      if (tested.head.arm == arm) all_.push_back(&tested.by_size[size].measurements[normalizer]);
  }
  const std::vector<const Measurement*>& all() const noexcept { return all_; }
  template <class Value>
  std::vector<double> values(const Value& value) const {
    std::vector<double> out;
    for (const Measurement* m : all_) out.push_back(value(*m));
    return out;
  }
  std::vector<double> accuracies() const {
    return values([](const Measurement& m) { return m.accuracy(); });
  }
  template <class Value>
  double mean(const Value& value) const {
    double sum = 0.0;
    for (const Measurement* m : all_) sum += value(*m);
    return sum / static_cast<double>(all_.size());
  }

 private:
  std::vector<const Measurement*> all_;
};

Json summary_json(const OverSeeds& over, const std::string& arm, const AnyNormalizer& normalizer) {
  const Measurement& first = *over.all().front();
  const Interval accuracy =
      over.all().size() > 1 ? mean_interval(over.accuracies()) : share_interval(first.right, first.sets);
  return {{"arm", arm},
          {"normalizer", normalizer.text()},
          {"n", first.n},
          {"seeds", over.all().size()},
          {"accuracy", over.mean([](const Measurement& m) { return m.accuracy(); })},
          {"accuracy_low", number(accuracy.low)},
          {"accuracy_high", number(accuracy.high)},
          {"entropy", number(over.mean([](const Measurement& m) { return m.entropy; }))},
          {"peak_weight", number(over.mean([](const Measurement& m) { return m.peak_weight; }))},
          {"right_weight", number(over.mean([](const Measurement& m) { return m.right_weight; }))},
          {"ranked_first", over.mean([](const Measurement& m) { return share(m.ranked_first, m.sets); })},
          {"hard_accuracy", over.mean([](const Measurement& m) { return m.hard_accuracy(); })},
          {"hard_right_rule_wrong",
           over.mean([](const Measurement& m) { return share(m.hard_right_rule_wrong, m.sets); })},
          {"hard_wrong_rule_right",
           over.mean([](const Measurement& m) { return share(m.hard_wrong_rule_right, m.sets); })}};
}

Json test_json(const OverSeeds& softmax, const OverSeeds& other, const std::string& arm, std::int64_t n,
               const AnyNormalizer& first, const AnyNormalizer& second) {
  const PairedTest test = paired_t_test(softmax.accuracies(), other.accuracies());
  return {{"arm", arm},
          {"n", n},
          {"first", first.text()},
          {"second", second.text()},
          {"seeds", softmax.all().size()},
          {"difference", number(test.difference)},
          {"t", number(test.t)},
          {"p", number(test.p)}};
}

void add_over_seeds(const RunOutcome& outcome, Json& summary, Json& tests) {
  const TestSettings& test = outcome.settings.test;
  const auto plain = std::find(test.normalizers.begin(), test.normalizers.end(), AnyNormalizer(Softmax{}));
  const auto softmax = static_cast<std::size_t>(plain - test.normalizers.begin());
  for (const Arm& arm : outcome.settings.arms) {
    for (std::size_t k = 0; k < test.normalizers.size(); ++k) {
      for (std::size_t i = 0; i < test.sizes.size(); ++i) {
        const OverSeeds over(outcome, arm.name, i, k);
        summary.push_back(summary_json(over, arm.name, test.normalizers[k]));
        if (over.all().size() > 1 && plain != test.normalizers.end() && k != softmax)
          tests.push_back(test_json(OverSeeds(outcome, arm.name, i, softmax), over, arm.name, test.sizes[i],
                                    *plain, test.normalizers[k]));
      }
    }
  }
}

// `given`: the rule as it stands in the settings, whatever was learned.
Json heat_map_json(const TestedHead& tested, const HeatMap& map, const std::string& given) {
  Json rows = Json::array();
  for (std::int64_t set = 0; set < map.sets; ++set) {
    Json row = Json::array();
    for (std::int64_t item = 0; item < map.items; ++item)
      row.push_back(number(shortest(map.weights[static_cast<std::size_t>(set * map.items + item)])));
    rows.push_back(std::move(row));
  }
  return {{"arm", tested.head.arm}, {"seed", tested.head.seed}, {"normalizer", given}, {"n", map.n},
          {"sets", map.sets},       {"items", map.items},       {"weights", rows}};
}

}  // namespace

Json measured_json(const Measurement& m) {
  const Interval accuracy = share_interval(m.right, m.sets);
  return {{"n", m.n},
          {"sets", m.sets},
          {"accuracy", m.accuracy()},
          {"accuracy_low", accuracy.low},
          {"accuracy_high", accuracy.high},
          {"entropy", number(m.entropy)},
          {"peak_weight", number(m.peak_weight)},
          {"right_weight", number(m.right_weight)},
          {"temperature", number(m.temperature)},
          {"ranked_first", share(m.ranked_first, m.sets)},
          {"hard_accuracy", m.hard_accuracy()}};
}

Json results_json(const RunOutcome& outcome) {
  const RunSettings& run = outcome.settings;
  Json heads = Json::array(), results = Json::array(), summary = Json::array(), tests = Json::array();
  Json heat_maps = Json::array(), published = Json::array();
  for (const TestedHead& tested : outcome.heads) {
    heads.push_back(head_json(tested));
    for (const Evaluation& evaluation : tested.by_size) {
      std::map<std::string, std::string> given;
      for (std::size_t k = 0; k < evaluation.measurements.size(); ++k) {
        given[evaluation.measurements[k].normalizer] = run.test.normalizers[k].text();
        results.push_back(result_json(tested, evaluation.measurements[k], run.test.normalizers[k],
                                      evaluation.bound_violations));
      }
      for (const HeatMap& map : evaluation.heat_maps)
        heat_maps.push_back(heat_map_json(tested, map, given[map.normalizer]));
    }
  }
  add_over_seeds(outcome, summary, tests);
  for (const Published& entry : published_table())
    published.push_back(
        {{"normalizer", entry.normalizer}, {"n", entry.n}, {"accuracy", entry.accuracy}});
  Json rows = Json::array();
  for (const ScoreRow& row : outcome.rows)
    rows.push_back({{"arm", row.arm}, {"seed", row.seed}, {"n", row.n}, {"quantiles", row.quantiles}});
  return {{"preset", run.preset},
          {"settings", settings_json(run)},
          {"arms", json_of(run)["arms"]},
          {"heads", heads},
          {"results", results},
          {"summary", summary},
          {"tests", tests},
          {"published", published},
          {"heat_maps", heat_maps},
          {"rows", rows}};
}

}  // namespace sharpmax::retrieval
