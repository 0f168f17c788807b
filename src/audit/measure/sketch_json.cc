#include "audit/measure/sketch_json.h"

#include <algorithm>
#include <cmath>

#include "audit/measure/six_digits.h"
#include "model/tokenizer/utf8.h"
#include "storage/digest.h"

namespace sharpmax::audit {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFull = 255.0;

// Weights of a row are seen down to a few millionths and told to half a hundredth: root by root in a byte
// each. Nothing lies above the diagonal.
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

}  // namespace

Json to_json(const Sketches& sketches, std::span<const std::string> texts) {
  Json json{{"tokens", Json::array()}, {"map_size", sketches.map_size}, {"rows", sketches.rows}};
  for (const std::string& text : texts) json["tokens"].push_back(model::with_replacements(text));
  json["heads"] = Json::array();
  for (std::size_t place = 0; place < sketches.heads.size(); ++place)
    json["heads"].push_back(head_json(sketches, place));
  return json;
}

}  // namespace sharpmax::audit
