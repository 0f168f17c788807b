// What a run found, as a RetrievalResult.
#include "retrieval/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "job/json_members.h"
#include "job/saved_results.h"
#include "normalizer/definition.h"
#include "retrieval/task/task.h"
#include "statistics/significance.h"

namespace sharpmax::retrieval {

// Paper A's table: accuracy over ten seeds, the same weights under softmax and with adaptive temperature. Sizes 32
// and 8,192 are missing: no source at hand states their accuracies.

struct Published {
  std::string_view normalizer;
  std::int64_t n = 0;
  double accuracy = 0.0;
};

std::span<const Published> published_table();

namespace {

constexpr std::array<Published, 18> kTable = {{
    {"softmax", 16, 0.986},    {"softmax", 64, 0.943},    {"softmax", 128, 0.897},
    {"softmax", 256, 0.813},   {"softmax", 512, 0.701},   {"softmax", 1024, 0.538},
    {"softmax", 2048, 0.357},  {"softmax", 4096, 0.226},  {"softmax", 16384, 0.124},
    {"adaptive", 16, 0.986},   {"adaptive", 64, 0.945},   {"adaptive", 128, 0.899},
    {"adaptive", 256, 0.821},  {"adaptive", 512, 0.725},  {"adaptive", 1024, 0.577},
    {"adaptive", 2048, 0.394}, {"adaptive", 4096, 0.249}, {"adaptive", 16384, 0.140},
}};

}  // namespace

std::span<const Published> published_table() { return kTable; }

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double share(std::int64_t count, std::int64_t of) {
  return static_cast<double>(count) / static_cast<double>(of);
}

// The shortest decimal that is this float: its double would print digits that mean nothing.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

RetrievalHead head_of(const TestedHead& tested) {
  RetrievalHead head{.arm = tested.head.arm,
                     .seed = tested.head.seed,
                     .loss = tested.loss_curve.empty() ? kNone : tested.loss_curve.back().second,
                     .loss_curve = tested.loss_curve,
                     .normalizer = tested.head.normalizer().text(),
                     .spread = {tested.spread.certified, tested.spread.attained},
                     .half_lost_from_log10 = log10_half_lost_from(tested.spread.certified)};
  if (!tested.file.empty()) head.file = tested.file;
  return head;
}

// The lemma holds for rules that are softmax at one temperature for every row of n keys.
double weight_bound(const AnyNormalizer& normalizer, std::int64_t n, double certified) {
  const auto size = static_cast<double>(n);
  const Rule rule = normalizer.definition().rule(HeadParameters(normalizer.parameters(), 0), size);
  if (rule.kind != RuleKind::exponential || !(rule.beta >= 0.0)) return kNone;
  return largest_possible_weight(size, certified, rule.beta);
}

// `given`: the normalizer as it stands in the settings, whatever was learned.
RetrievalMeasurement measurement_of(const TestedHead& tested, const Measurement& m, const AnyNormalizer& given,
                                    std::int64_t violations) {
  RetrievalMeasurement result;
  static_cast<MeasuredNormalizer&>(result) = measured(m);
  result.arm = tested.head.arm;
  result.seed = tested.head.seed;
  result.normalizer = given.text();
  result.spread = m.spread;
  result.hard_right_rule_right = m.hard_right_rule_right;
  result.hard_right_rule_wrong = m.hard_right_rule_wrong;
  result.hard_wrong_rule_right = m.hard_wrong_rule_right;
  result.hard_wrong_rule_wrong = m.hard_wrong_rule_wrong;
  result.largest_peak_weight = m.largest_peak_weight;
  result.weight_bound = weight_bound(AnyNormalizer::parse(m.normalizer), m.n, tested.spread.certified);
  result.bound_violations = violations;
  return result;
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

RetrievalSummary summary_of(const OverSeeds& over, const std::string& arm, const AnyNormalizer& normalizer) {
  const Measurement& first = *over.all().front();
  const Interval accuracy =
      over.all().size() > 1 ? mean_interval(over.accuracies()) : share_interval(first.right, first.sets);
  return {.arm = arm,
          .normalizer = normalizer.text(),
          .n = first.n,
          .seeds = static_cast<std::int64_t>(over.all().size()),
          .accuracy = over.mean([](const Measurement& m) { return m.accuracy(); }),
          .accuracy_low = accuracy.low,
          .accuracy_high = accuracy.high,
          .entropy = over.mean([](const Measurement& m) { return m.entropy; }),
          .peak_weight = over.mean([](const Measurement& m) { return m.peak_weight; }),
          .right_weight = over.mean([](const Measurement& m) { return m.right_weight; }),
          .ranked_first = over.mean([](const Measurement& m) { return share(m.ranked_first, m.sets); }),
          .hard_accuracy = over.mean([](const Measurement& m) { return m.hard_accuracy(); }),
          .hard_right_rule_wrong =
              over.mean([](const Measurement& m) { return share(m.hard_right_rule_wrong, m.sets); }),
          .hard_wrong_rule_right =
              over.mean([](const Measurement& m) { return share(m.hard_wrong_rule_right, m.sets); })};
}

RetrievalComparison comparison_of(const OverSeeds& softmax, const OverSeeds& other, const std::string& arm, std::int64_t n,
                                  const AnyNormalizer& first, const AnyNormalizer& second) {
  const PairedTest test = paired_t_test(softmax.accuracies(), other.accuracies());
  return {.arm = arm,
          .n = n,
          .first = first.text(),
          .second = second.text(),
          .seeds = static_cast<std::int64_t>(softmax.all().size()),
          .difference = test.difference,
          .t = test.t,
          .p = test.p};
}

void add_over_seeds(const RunOutcome& outcome, RetrievalResult& result) {
  const TestSettings& test = outcome.settings.test;
  const auto plain = std::find(test.normalizers.begin(), test.normalizers.end(), AnyNormalizer(Softmax{}));
  const auto softmax = static_cast<std::size_t>(plain - test.normalizers.begin());
  for (const Arm& arm : outcome.settings.arms) {
    for (std::size_t k = 0; k < test.normalizers.size(); ++k) {
      for (std::size_t i = 0; i < test.sizes.size(); ++i) {
        const OverSeeds over(outcome, arm.name, i, k);
        result.summary.push_back(summary_of(over, arm.name, test.normalizers[k]));
        if (over.all().size() > 1 && plain != test.normalizers.end() && k != softmax)
          result.comparisons.push_back(comparison_of(OverSeeds(outcome, arm.name, i, softmax), over, arm.name,
                                                     test.sizes[i], *plain, test.normalizers[k]));
      }
    }
  }
}

RetrievalHeatMap heat_map_of(const TestedHead& tested, const HeatMap& map, const std::string& given) {
  RetrievalHeatMap result{.arm = tested.head.arm,
                          .seed = tested.head.seed,
                          .normalizer = given,
                          .n = map.n,
                          .sets = map.sets,
                          .items = map.items};
  for (std::int64_t set = 0; set < map.sets; ++set) {
    std::vector<double>& row = result.weights.emplace_back();
    for (std::int64_t item = 0; item < map.items; ++item)
      row.push_back(shortest(map.weights[static_cast<std::size_t>(set * map.items + item)]));
  }
  return result;
}

void add_tests(const TestedHead& tested, const TestSettings& test, RetrievalResult& result) {
  for (const Evaluation& evaluation : tested.by_size) {
    std::map<std::string, std::string> given;
    for (std::size_t k = 0; k < evaluation.measurements.size(); ++k) {
      given[evaluation.measurements[k].normalizer] = test.normalizers[k].text();
      result.results.push_back(
          measurement_of(tested, evaluation.measurements[k], test.normalizers[k], evaluation.bound_violations));
    }
    for (const HeatMap& map : evaluation.heat_maps)
      result.heat_maps.push_back(heat_map_of(tested, map, given[map.normalizer]));
  }
}

}  // namespace

MeasuredNormalizer measured(const Measurement& m) {
  const Interval accuracy = share_interval(m.right, m.sets);
  return {.n = m.n,
          .sets = m.sets,
          .accuracy = m.accuracy(),
          .accuracy_low = accuracy.low,
          .accuracy_high = accuracy.high,
          .entropy = m.entropy,
          .peak_weight = m.peak_weight,
          .right_weight = m.right_weight,
          .temperature = m.temperature,
          .ranked_first = share(m.ranked_first, m.sets),
          .hard_accuracy = m.hard_accuracy()};
}

RetrievalResult result_of(const RunOutcome& outcome) {
  RetrievalResult result{.training_seconds = outcome.training_seconds,
                         .testing_seconds = outcome.testing_seconds,
                         .settings = outcome.settings,
                         .rows = outcome.rows};
  for (const TestedHead& tested : outcome.heads) {
    result.heads.push_back(head_of(tested));
    add_tests(tested, outcome.settings.test, result);
  }
  add_over_seeds(outcome, result);
  for (const Published& entry : published_table())
    result.published.push_back({std::string(entry.normalizer), entry.n, entry.accuracy});
  return result;
}

std::vector<double> even_quantiles(std::vector<double> scores, std::size_t count) {
  if (scores.size() > count) return quantiles_of(std::move(scores), count);
  std::sort(scores.begin(), scores.end());
  return scores;
}

std::vector<ScoreRow> score_rows(std::span<const TestedHead> heads, const TestSettings& test) {
  std::vector<ScoreRow> rows;
  std::int64_t n = 0;
  for (const std::int64_t size : test.sizes)
    if (size <= kHeldItems) n = std::max(n, size);
  if (n == 0) return rows;
  std::set<std::string> seen;
  for (const TestedHead& tested : heads) {
    const Head& head = tested.head;
    if (!seen.insert(head.arm).second) continue;
    rows.push_back({.arm = head.arm,
                    .seed = head.seed,
                    .n = n,
                    .quantiles = even_quantiles(scores_of_test_set(head, n, 0), kQuantiles)});
  }
  return rows;
}

// Results as JSON that people can read too, and as CSV.

namespace {

std::string column_of(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string quoted = "\"";  // normalizers have commas
  for (const char c : value.get<std::string>()) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

Json settings_json(const RunSettings& run) {
  Json json = json_of(run.test);
  Json sets = Json::object();
  for (const std::int64_t n : run.test.sizes) sets[fmt::format("{}", n)] = sets_at(n, run.test.sets_scale);
  json["sets"] = sets;
  json["seeds"] = run.seeds;
  return json;
}

RunSettings settings_in(const Json& results) {
  Json test = results.at("settings");
  const Json seeds = test.at("seeds");
  test.erase("sets");
  test.erase("seeds");
  return run_from({{"schema", kRunSchema},
                   {"preset", results.at("preset")},
                   {"arms", results.at("arms")},
                   {"seeds", seeds},
                   {"test", test}},
                  "settings");
}

}  // namespace

std::string text_of(const Json& results) {
  const auto compact = [](const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string out = "{";
  for (const auto& [key, value] : results.items()) {
    out += fmt::format("{}\n{}: ", out.size() > 1 ? "," : "", compact(Json(key)));
    if (!value.is_array() || value.empty()) {
      out += compact(value);
      continue;
    }
    out += "[";
    for (std::size_t i = 0; i < value.size(); ++i) out += (i > 0 ? ",\n  " : "\n  ") + compact(value[i]);
    out += "\n]";
  }
  return out + "\n}\n";
}

}  // namespace sharpmax::retrieval

namespace sharpmax {
namespace {

// From "heads" on.
template <class Result, class Visit>
void each_list(Result& result, const Visit& visit) {
  visit("heads", result.heads);
  visit("results", result.results);
  visit("summary", result.summary);
  visit("tests", result.comparisons);
  visit("published", result.published);
  visit("heat_maps", result.heat_maps);
  visit("rows", result.rows);
}

}  // namespace

bool RetrievalResult::bounds_hold() const {
  for (const RetrievalMeasurement& result : results)
    if (result.bound_violations > 0) return false;
  return true;
}

Json to_json(const RetrievalResult& result) {
  Json json = header_of(kRetrievalSchema, result.provenance);
  json["seconds"] = {{"training", result.training_seconds}, {"testing", result.testing_seconds}};
  json["preset"] = result.settings.preset;
  json["settings"] = retrieval::settings_json(result.settings);
  json["arms"] = retrieval::json_of(result.settings)["arms"];
  each_list(result, internal::Writer{json});
  return json;
}

RetrievalResult retrieval_result(const Json& json) {
  return read_results(json, kRetrievalSchema, [](const Json& results) {
    RetrievalResult result{.provenance = provenance_in(results), .settings = retrieval::settings_in(results)};
    read_json(results.at("seconds").at("training"), result.training_seconds);
    read_json(results.at("seconds").at("testing"), result.testing_seconds);
    each_list(result, internal::Reader{results});
    return result;
  });
}

std::string to_csv(const RetrievalResult& result) {
  std::string out = std::string(retrieval::kCsvHeader) + "\n";
  for (const RetrievalMeasurement& measurement : result.results) {
    const Json row = json_of(measurement);
    std::string values;
    for (const auto& [key, value] : row.items())
      values += fmt::format("{}{}", values.empty() ? "" : ",", retrieval::column_of(value));
    out += values + "\n";
  }
  return out;
}

}  // namespace sharpmax
