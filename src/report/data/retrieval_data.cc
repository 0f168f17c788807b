#include "report/data/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBytesOfACell = 3;  // of a heat map, about

using Key = std::tuple<std::string, std::string, std::int64_t>;  // arm, normalizer, n
using Measured = std::map<Key, std::vector<const Json*>>;        // one for each seed

Key key_of(const Json& row) {
  return {row.at("arm").get<std::string>(), row.at("normalizer").get<std::string>(),
          row.at("n").get<std::int64_t>()};
}

Measured by_key(const Json& results) {
  Measured measured;
  for (const Json& row : results) measured[key_of(row)].push_back(&row);
  return measured;
}

// Numbers that are NaN or infinite are null in the results; a mean or an extreme of none stays null.
std::vector<double> values(const std::vector<const Json*>& rows, const char* field) {
  std::vector<double> found;
  for (const Json* row : rows)
    if (const Json& value = row->at(field); !value.is_null()) found.push_back(value.get<double>());
  return found;
}

Json mean(const std::vector<const Json*>& rows, const char* field) {
  const std::vector<double> found = values(rows, field);
  if (found.empty()) return nullptr;
  double sum = 0.0;
  for (const double value : found) sum += value;
  return sum / static_cast<double>(found.size());
}

Json largest(const std::vector<const Json*>& rows, const char* field) {
  const std::vector<double> found = values(rows, field);
  if (found.empty()) return nullptr;
  return *std::max_element(found.begin(), found.end());
}

std::int64_t total(const std::vector<const Json*>& rows, const char* field) {
  std::int64_t sum = 0;
  for (const Json* row : rows) sum += row->at(field).get<std::int64_t>();
  return sum;
}

Json table(const Json& results) {
  const std::vector<const char*> of_summary = {
      "arm",           "normalizer", "n",           "seeds",        "accuracy",     "accuracy_low",
      "accuracy_high", "entropy",    "peak_weight", "right_weight", "ranked_first", "hard_accuracy"};
  const std::vector<const char*> totals = {"sets",
                                           "hard_right_rule_right",
                                           "hard_right_rule_wrong",
                                           "hard_wrong_rule_right",
                                           "hard_wrong_rule_wrong",
                                           "bound_violations"};
  const std::vector<const char*> means = {"temperature", "spread"};
  const std::vector<const char*> extremes = {"largest_peak_weight", "weight_bound"};

  Json columns = Json::array();
  for (const auto& names : {of_summary, totals, means, extremes})
    for (const char* name : names) columns.push_back(name);

  const Measured measured = by_key(results.at("results"));
  Json rows = Json::array();
  for (const Json& summary : results.at("summary")) {
    const auto found = measured.find(key_of(summary));
    if (found == measured.end())
      throw Error(ErrorCode::bad_argument,
                  fmt::format("report: the summary has {} at n = {}, the results have not",
                              in_quotes(std::get<1>(key_of(summary))), std::get<2>(key_of(summary))));
    Json row = Json::array();
    for (const char* name : of_summary) row.push_back(summary.at(name));
    for (const char* name : totals) row.push_back(total(found->second, name));
    for (const char* name : means) row.push_back(mean(found->second, name));
    for (const char* name : extremes) row.push_back(largest(found->second, name));
    rows.push_back(std::move(row));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json heads(const Json& results) {
  Json kept = Json::array();
  for (const Json& head : results.at("heads")) {
    Json line = Json::object();
    for (const char* name : {"arm", "seed", "loss", "normalizer", "spread", "half_lost_from_log10"})
      line[name] = head.at(name);
    kept.push_back(std::move(line));
  }
  return kept;
}

// The mean weight on the largest item, the last of each set: thousandths would round a dispersed one away.
Json on_largest(const Json& weights) {
  double sum = 0.0;
  for (const Json& set : weights) {
    if (set.at(set.size() - 1).is_null()) return nullptr;
    sum += set.at(set.size() - 1).get<double>();
  }
  return weights.empty() ? Json() : Json(sum / static_cast<double>(weights.size()));
}

Json in_thousandths(const Json& weights) {
  Json flat = Json::array();
  for (const Json& set : weights)
    for (const Json& weight : set)
      flat.push_back(weight.is_null() ? Json() : Json(std::lround(1000.0 * weight.get<double>())));
  return flat;
}

// Whole (arm, normalizer) groups, so that no row of panels has a gap.
Json heat_maps(const Json& results, std::size_t most_cells, Json& left_out) {
  std::map<std::string, std::uint64_t> first_seed;
  std::map<std::pair<std::string, std::string>, std::vector<const Json*>> groups;
  std::vector<std::pair<std::string, std::string>> order;
  for (const Json& map : results.at("heat_maps")) {
    const auto arm = map.at("arm").get<std::string>();
    const auto seed = map.at("seed").get<std::uint64_t>();
    if (first_seed.try_emplace(arm, seed).first->second != seed) continue;
    const std::pair group{arm, map.at("normalizer").get<std::string>()};
    if (!groups.contains(group)) order.push_back(group);
    groups[group].push_back(&map);
  }
  Json kept = Json::array();
  std::size_t cells = 0;
  for (const auto& group : order) {
    std::size_t more = 0;
    for (const Json* map : groups[group])
      more += map->at("sets").get<std::size_t>() * map->at("items").get<std::size_t>();
    if (cells + more > most_cells) {
      left_out.push_back({{"arm", group.first}, {"normalizer", group.second}});
      continue;
    }
    cells += more;
    for (const Json* map : groups[group]) {
      Json panel = Json::object();
      for (const char* name : {"arm", "seed", "normalizer", "n", "sets", "items"})
        panel[name] = map->at(name);
      panel["on_largest"] = on_largest(map->at("weights"));
      panel["thousandths"] = in_thousandths(map->at("weights"));
      kept.push_back(std::move(panel));
    }
  }
  return kept;
}

}  // namespace

Json retrieval_data(const Json& results, std::size_t room) {
  Json data = Json::object();
  for (const char* name :
       {"sharpmax", "command", "created", "seconds", "preset", "settings", "arms", "tests", "published"})
    data[name] = results.at(name);
  // Rows of scores to play with; in the page "rows" are those of the table.
  data["score_rows"] = results.contains("rows") ? results.at("rows") : Json::array();
  data["heads"] = heads(results);
  data["table"] = table(results);
  const std::size_t taken = data.dump(-1, ' ', false, Json::error_handler_t::replace).size();
  Json left_out = Json::array();
  data["heat_maps"] = heat_maps(results, room > taken ? (room - taken) / kBytesOfACell : 0, left_out);
  data["heat_maps_left_out"] = std::move(left_out);
  return data;
}

}  // namespace sharpmax::report
