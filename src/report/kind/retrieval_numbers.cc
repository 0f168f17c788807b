// All numbers of max retrieval, and what was proved of the heads beside what was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/in_quotes.h"
#include "report/kind/retrieval_rows.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

constexpr Format kPercent{Format::percent}, kWhole{Format::count};

using MeasuredKey = std::tuple<std::string, std::string, std::int64_t>;  // arm, normalizer, n

MeasuredKey measured_key(const Json& row) { return {text_at(row, "arm"), text_at(row, "normalizer"), row.at("n").get<std::int64_t>()}; }

// Over the seeds of one arm, normalizer and size.
struct Measured {
  double sets = 0.0, violations = 0.0;
  std::optional<double> temperature, spread, largest, bound;
};

std::map<MeasuredKey, Measured> measured_of(const Json& results) {
  std::map<MeasuredKey, std::vector<const Json*>> grouped;
  for (const Json& row : results.at("results")) grouped[measured_key(row)].push_back(&row);
  std::map<MeasuredKey, Measured> measured;
  for (const auto& [key, rows] : grouped) {
    Measured& one = measured[key];
    const auto mean = [&rows = rows](const char* name) {
      double sum = 0.0, n = 0.0;
      for (const Json* row : rows)
        if (const auto value = number_at(*row, name)) sum += *value, n += 1.0;
      return n > 0.0 ? std::optional(sum / n) : std::nullopt;
    };
    const auto most = [&rows = rows](const char* name) {
      std::optional<double> found;
      for (const Json* row : rows)
        if (const auto value = number_at(*row, name)) found = std::max(found.value_or(*value), *value);
      return found;
    };
    for (const Json* row : rows) one.sets += row->at("sets").get<double>(), one.violations += row->at("bound_violations").get<double>();
    one.temperature = mean("temperature");
    one.spread = mean("spread");
    one.largest = most("largest_peak_weight");
    one.bound = most("weight_bound");
  }
  return measured;
}

Section certificate_section(const Json& results, const std::map<MeasuredKey, Measured>& measured) {
  Section section{"certificate", "What no input can do",
                  "Over every priority and query in [0, 1] and every class, a head’s scores spread at most so far. Under softmax this bounds "
                  "every weight at every size; each measured row was checked against it.",
                  {}, /*brief=*/true};
  constexpr std::size_t kMany = 4;
  std::vector<std::string> arms;
  double more = 0.0;
  for (const Json& head : results.at("heads")) {
    const bool first = !holds(arms, text_at(head, "arm"));
    add_once(arms, text_at(head, "arm"));
    const Json& spread = head.at("spread");
    if (results.at("heads").size() > kMany && !first) {
      more += 1.0;
      continue;
    }
    section.items.push_back({Note{fmt::format(
        "Arm {}, seed {}: scores spread at most {} ({} is attained); from {} items on no input at all gets half of the weight under softmax.",
        text_at(head, "arm"), count(head.at("seed").get<double>()), formatted(fixed_to(2), number_at(spread, "certified")),
        formatted(fixed_to(2), number_at(spread, "attained")), formatted({Format::power}, number_at(head, "half_lost_from_log10")))}});
  }
  if (section.items.empty()) return section;
  if (more > 0.0) section.items.push_back({Note{plural(more, "more head") + " in the JSON."}});
  double broken = 0.0, checked = 0.0;
  for (const auto& [key, one] : measured) broken += one.violations, checked += one.sets;
  section.items.push_back({Note{fmt::format("{} among {} of weights.", plural(broken, "violation"), plural(checked, "measured row"))}});
  return section;
}

Section rows_section(const Json& results, const std::map<MeasuredKey, Measured>& measured) {
  Table table{.id = "all-rows",
              .title = "All numbers",
              .columns = {{.name = "training", .code = true},
                          {.name = "normalizer", .code = true},
                          {.name = "n", .format = kWhole},
                          {.name = "seeds", .format = kWhole},
                          {.name = "sets", .format = kWhole},
                          {.name = "accuracy", .format = kPercent},
                          {.name = "95 % interval", .csv = false},
                          {.name = "accuracy low", .format = kPercent, .hidden = true},
                          {.name = "accuracy high", .format = kPercent, .hidden = true},
                          {.name = "entropy", .format = fixed_to(3)},
                          {.name = "peak weight", .format = fixed_to(3)},
                          {.name = "weight on right", .format = fixed_to(3)},
                          {.name = "temperature β", .format = fixed_to(3)},
                          {.name = "score spread", .format = fixed_to(2)},
                          {.name = "ranked first", .format = kPercent},
                          {.name = "hard right", .format = kPercent},
                          {.name = "largest weight", .format = fixed_to(3)},
                          {.name = "its bound", .format = fixed_to(3)}},
              .tall = true};
  for (const Json& row : results.at("summary")) {
    const auto found = measured.find(measured_key(row));
    if (found == measured.end())
      throw Error(ErrorCode::bad_argument, fmt::format("report: the summary has {} at n = {}, the results have not",
                                                       in_quotes(text_at(row, "normalizer")), row.at("n").get<std::int64_t>()));
    const Measured& one = found->second;
    const auto low = number_at(row, "accuracy_low");
    table.rows.push_back({text_at(row, "arm"), text_at(row, "normalizer"), size_at(row, "n"), number_at(row, "seeds"), one.sets,
                          number_at(row, "accuracy"), Cell(low, accuracy_ends(row)), low, number_at(row, "accuracy_high"),
                          number_at(row, "entropy"), number_at(row, "peak_weight"), number_at(row, "right_weight"), one.temperature, one.spread,
                          number_at(row, "ranked_first"), number_at(row, "hard_accuracy"), one.largest, one.bound});
  }
  return {"numbers", "All numbers", "", {{std::move(table)}}};
}

}  // namespace

std::vector<Section> retrieval_numbers(const Json& results) {
  const auto measured = measured_of(results);
  return {certificate_section(results, measured), rows_section(results, measured)};
}

}  // namespace sharpmax::report
