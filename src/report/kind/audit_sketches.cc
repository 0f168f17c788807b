// What the page may hold of the sketches of heads, in several sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "report/kind/audit_charts.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::report {
namespace {

constexpr double kFull = 255.0;        // of a cell's byte
constexpr std::size_t kLeastMap = 12;  // cells each way
// Tokens that are shown with one: before a query, and on either side of a key.
constexpr std::int64_t kBefore = 6, kAround = 3;

Json rounded(const Json& number, int digits) {
  if (number.is_null()) return number;
  const double value = number.get<double>();
  if (value == std::floor(value) && std::abs(value) < 1e9) return static_cast<std::int64_t>(value);
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

Json rounded_list(const Json& numbers, int digits) {
  Json list = Json::array();
  for (const Json& number : numbers) list.push_back(rounded(number, digits));
  return list;
}

// A map as weights: the lower triangle, row by row.
struct Map {
  std::size_t size = 0;
  std::vector<double> weights;

  double& at(std::size_t row, std::size_t column) { return weights[row * (row + 1) / 2 + column]; }
};

std::optional<Map> map_in(const Json& json, std::size_t size) {
  if (json.is_null()) return std::nullopt;
  const auto cells = bytes_in_base64(json.at("cells").get_ref<const std::string&>());
  if (!cells || cells->size() != size * (size + 1) / 2)
    throw Error(ErrorCode::bad_argument,
                fmt::format("report: the map of a head does not have {} x {} cells", size, size));
  const double scale = json.at("scale").get<double>();
  Map map{.size = size};
  for (const std::uint8_t cell : *cells) map.weights.push_back(scale * (cell / kFull) * (cell / kFull));
  return map;
}

// `factor` x `factor` cells become one: weights of keys add up, those of queries are averaged by how many
// there are.
Map merged(Map& fine, std::size_t factor, std::size_t tokens) {
  Map coarse{.size = fine.size / factor};
  coarse.weights.resize(coarse.size * (coarse.size + 1) / 2);
  const auto begin = [&](std::size_t block) { return (block * tokens + fine.size - 1) / fine.size; };
  for (std::size_t row = 0; row < fine.size; ++row) {
    const std::size_t into = row / factor;
    const auto queries = static_cast<double>(begin(row + 1) - begin(row));
    const auto all = static_cast<double>(begin((into + 1) * factor) - begin(into * factor));
    for (std::size_t column = 0; column <= row; ++column)
      coarse.at(into, column / factor) += fine.at(row, column) * queries / all;
  }
  return coarse;
}

Json maps_json(std::vector<std::optional<Map>>& maps, std::size_t size, std::size_t factor,
               std::size_t tokens) {
  Json cells = Json::array(), scales = Json::array();
  for (std::optional<Map>& fine : maps) {
    if (!fine) {
      cells.push_back(nullptr);
      scales.push_back(nullptr);
      continue;
    }
    const Map map = merged(*fine, factor, tokens);
    const double scale = std::max(1.0, *std::max_element(map.weights.begin(), map.weights.end()));
    std::vector<std::uint8_t> bytes;
    for (const double weight : map.weights)
      bytes.push_back(
          static_cast<std::uint8_t>(std::lround(kFull * std::sqrt(std::max(0.0, weight) / scale))));
    cells.push_back(base64_of(bytes));
    scales.push_back(rounded(scale, 6));
  }
  return {{"size", size / factor}, {"cells", std::move(cells)}, {"scales", std::move(scales)}};
}

std::int64_t token_in(const Json& place, std::int64_t tokens) {
  const auto token = place.get<std::int64_t>();
  if (token < 0 || token >= tokens)
    throw Error(ErrorCode::bad_argument,
                fmt::format("report: a head looks at token {}, where there are {}", token, tokens));
  return token;
}

// Of the last `count` of the rows that were looked at, the heaviest keys; and the words of every token that
// is named.
Json keys_json(const Json& sketches, std::size_t count) {
  const Json& rows = sketches.at("rows");
  const std::size_t first = rows.size() - count;
  const auto tokens_there = static_cast<std::int64_t>(sketches.at("tokens").size());
  std::set<std::int64_t> named;
  for (std::size_t i = first; i < rows.size(); ++i)
    for (std::int64_t back = 0; back <= kBefore; ++back)
      named.insert(token_in(rows[i], tokens_there) - back);
  Json keys = Json::array(), weights = Json::array();
  for (const Json& head : sketches.at("heads")) {
    Json keys_of_head = Json::array(), weights_of_head = Json::array();
    for (std::size_t i = first; i < rows.size(); ++i) {
      const Json& top = head.at("top").at(i);
      for (const Json& key : top.at("keys"))
        for (std::int64_t near = -kAround; near <= kAround; ++near)
          named.insert(token_in(key, tokens_there) + near);
      keys_of_head.push_back(top.at("keys"));
      weights_of_head.push_back(rounded_list(top.at("weights"), 3));
    }
    keys.push_back(std::move(keys_of_head));
    weights.push_back(std::move(weights_of_head));
  }
  Json texts = Json::object();
  const Json& tokens = sketches.at("tokens");
  for (const std::int64_t token : named)
    if (token >= 0 && token < static_cast<std::int64_t>(tokens.size()))
      texts[std::to_string(token)] = tokens.at(static_cast<std::size_t>(token)).get<std::string>();
  return {{"rows", Json(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end())},
          {"keys", std::move(keys)},
          {"weights", std::move(weights)},
          {"texts", std::move(texts)}};
}

// Every `step`-th quantile of the scores.
Json scores_json(const Json& sketches, std::size_t step) {
  Json n = Json::array(), quantiles = Json::array();
  for (const Json& head : sketches.at("heads")) {
    const Json& scores = head.at("scores");
    const Json& all = scores.at("quantiles");
    Json kept = Json::array();
    for (std::size_t i = 0; i < all.size(); i += step) kept.push_back(all[i]);
    n.push_back(scores.at("n"));
    quantiles.push_back(std::move(kept));
  }
  return {{"n", std::move(n)}, {"quantiles", std::move(quantiles)}};
}

}  // namespace

std::vector<Json> maps_by_size(const Json& sketches) {
  const auto size = sketches.at("map_size").get<std::size_t>();
  const std::size_t tokens = sketches.at("tokens").size();
  if (size < 1 || tokens < size)
    throw Error(ErrorCode::bad_argument,
                fmt::format("report: maps of {} x {} cells over {} tokens", size, size, tokens));
  std::vector<std::optional<Map>> maps;
  for (const Json& head : sketches.at("heads")) maps.push_back(map_in(head.at("map"), size));
  std::vector<Json> steps;
  for (const std::size_t factor : {4, 3, 2, 1})
    if (factor == 1 || (size % factor == 0 && size / factor >= kLeastMap))
      steps.push_back(maps_json(maps, size, factor, tokens));
  return steps;
}

std::vector<Json> keys_by_size(const Json& sketches) {
  const std::size_t rows = sketches.at("rows").size();
  std::vector<Json> steps;
  for (std::size_t count = 1; count < rows; ++count) steps.push_back(keys_json(sketches, count));
  steps.push_back(keys_json(sketches, rows));
  return steps;
}

std::vector<Json> scores_by_size(const Json& sketches) {
  std::vector<Json> steps;
  for (const std::size_t step : {8, 4, 2, 1}) steps.push_back(scores_json(sketches, step));
  return steps;
}

}  // namespace sharpmax::report
