#include "audit/measure/sketch_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/measure/findings_json.h"
#include "audit/measure/six_digits.h"
#include "base/numbers.h"
#include "job/json_members.h"
#include "model/tokenizer/utf8.h"
#include "storage/digest.h"

namespace sharpmax::audit {
namespace {

constexpr double kFull = 255.0;

// Each weight is a byte, which has its square root: weights of a few millionths are above 0, and errors are at most half a
// hundredth. Nothing lies above the diagonal.
Json map_json(const HeadSketch& head, std::int64_t size) {
  const double scale = std::max(1.0, *std::max_element(head.map.begin(), head.map.end()));
  std::vector<std::uint8_t> cells;
  for (std::int64_t row = 0; row < size; ++row)
    for (std::int64_t column = 0; column <= row; ++column) {
      const double weight = head.map[static_cast<std::size_t>(row * size + column)];
      cells.push_back(static_cast<std::uint8_t>(std::lround(kFull * std::sqrt(weight / scale))));
    }
  return {{"scale", six_digits(scale)}, {"cells", base64_of(cells)}};
}

Json head_json(const Sketches& sketches, std::size_t place) {
  const HeadSketch& head = sketches.heads[place];
  const auto heads = static_cast<std::size_t>(sketches.heads_per_layer);
  Json json{{"layer", place / heads}, {"head", place % heads}};
  const bool finite =
      std::all_of(head.map.begin(), head.map.end(), [](double w) { return std::isfinite(w); });
  json["map"] = finite ? map_json(head, sketches.map_size) : Json();
  json["top"] = Json::array();
  for (std::size_t row = 0; row < sketches.rows.size(); ++row) {
    Json keys = Json::array(), weights = Json::array();
    for (std::size_t i = row * kSketchKeys; i < (row + 1) * kSketchKeys && head.top_keys[i] >= 0; ++i) {
      keys.push_back(head.top_keys[i]);
      weights.push_back(six_digits(head.top_weights[i]));
    }
    json["top"].push_back({{"keys", std::move(keys)}, {"weights", std::move(weights)}});
  }
  Json quantiles = Json::array();
  for (const double score : head.scores) quantiles.push_back(six_digits(score));
  json["scores"] = {{"n", head.keys}, {"quantiles", std::move(quantiles)}};
  return json;
}

[[noreturn]] void refuse_sketch(const std::string& sentence) {
  throw Error(ErrorCode::bad_file, "sketches: " + sentence);
}

std::vector<double> map_in(const Json& json, std::int64_t size) {
  const auto side = static_cast<std::size_t>(size);
  std::vector<double> map(side * side, json.is_null() ? kNaN : 0.0);
  if (json.is_null()) return map;
  const auto cells = bytes_in_base64(json.at("cells").get_ref<const std::string&>());
  if (!cells || cells->size() != side * (side + 1) / 2)
    refuse_sketch(fmt::format("a map must have {} cells in base64", side * (side + 1) / 2));
  const double scale = json.at("scale").get<double>();
  std::size_t at = 0;
  for (std::size_t row = 0; row < side; ++row)
    for (std::size_t column = 0; column <= row; ++column) {
      const double root = (*cells)[at++] / kFull;
      map[row * side + column] = scale * root * root;
    }
  return map;
}

HeadSketch head_sketch_in(const Json& json, const Sketches& sketches) {
  HeadSketch head{.map = map_in(json.at("map"), sketches.map_size),
                  .top_keys = std::vector<std::int64_t>(sketches.rows.size() * kSketchKeys, -1),
                  .top_weights = std::vector<double>(sketches.rows.size() * kSketchKeys, 0.0)};
  for (std::size_t row = 0; row < sketches.rows.size(); ++row) {
    const Json &keys = json.at("top").at(row).at("keys"), &weights = json.at("top").at(row).at("weights");
    if (keys.size() > kSketchKeys)
      refuse_sketch(fmt::format("a query has {} heaviest keys; it must have at most {}", keys.size(), kSketchKeys));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      read_json(keys.at(i), head.top_keys[row * kSketchKeys + i]);
      read_json(weights.at(i), head.top_weights[row * kSketchKeys + i]);
    }
  }
  read_json(json.at("scores").at("n"), head.keys);
  read_json(json.at("scores").at("quantiles"), head.scores);
  return head;
}

}  // namespace

Sketches sketches_in(const Json& json, std::int64_t layers, std::int64_t heads) {
  Sketches sketches{.heads_per_layer = heads};
  read_json(json.at("tokens"), sketches.tokens);
  read_json(json.at("map_size"), sketches.map_size);
  read_json(json.at("rows"), sketches.rows);
  if (sketches.map_size < 1 || sketches.map_size > kSketchMap)
    refuse_sketch(fmt::format("map_size is {}; it must be from 1 to {}", sketches.map_size, kSketchMap));
  const Json& all = json.at("heads");
  check_head_count(all.size(), layers, heads);
  for (const Json& head : all) sketches.heads.push_back(head_sketch_in(head, sketches));
  return sketches;
}

Json to_json(const Sketches& sketches) {
  Json json{{"tokens", Json::array()}, {"map_size", sketches.map_size}, {"rows", sketches.rows}};
  for (const std::string& text : sketches.tokens) json["tokens"].push_back(model::with_replacements(text));
  json["heads"] = Json::array();
  for (std::size_t place = 0; place < sketches.heads.size(); ++place)
    json["heads"].push_back(head_json(sketches, place));
  return json;
}

}  // namespace sharpmax::audit
