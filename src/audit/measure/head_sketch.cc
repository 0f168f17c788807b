#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/measure/findings.h"
#include "base/float16.h"
#include "base/numbers.h"
#include "job/json_members.h"
#include "model/job/model_request.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"
#include "statistics/significance.h"
#include "storage/files.h"

namespace sharpmax::audit {
namespace {

// Tokens of block i of `blocks` begin here.
std::int64_t block_begin(std::int64_t i, std::int64_t tokens, std::int64_t blocks) {
  return (i * tokens + blocks - 1) / blocks;
}

double element(const AnyTensor<4>& x, std::int64_t head, std::int64_t row, std::int64_t feature) {
  const std::int64_t at = head * x.strides[1] + row * x.strides[2] + feature * x.strides[3];
  if (x.dtype == DType::float16)
    return static_cast<double>(to_float(static_cast<const float16*>(x.data)[at]));
  return static_cast<double>(static_cast<const float*>(x.data)[at]);
}

// Scores of the block's last query, over the keys that it sees.
std::vector<double> last_scores(const AttentionRequest& r, std::int64_t head) {
  const std::int64_t query = r.query.shape[2] - 1, width = r.query.shape[3], last = r.key.shape[2] - 1;
  const std::int64_t key_head = head * r.key.shape[1] / r.query.shape[1];
  const std::int64_t first = r.window.left < 0 ? 0 : std::max<std::int64_t>(0, last - r.window.left);
  const double scale = r.scale.value_or(1.0 / std::sqrt(static_cast<double>(width)));
  std::vector<double> scores;
  for (std::int64_t key = first; key <= last; ++key) {
    double dot = 0.0;
    for (std::int64_t f = 0; f < width; ++f)
      dot += element(r.query, head, query, f) * element(r.key, key_head, key, f);
    const double score = scale * dot;
    scores.push_back(r.soft_cap > 0 ? r.soft_cap * std::tanh(score / r.soft_cap) : score);
  }
  return scores;
}

class SketchWatch final : public model::AttentionObserver {
 public:
  explicit SketchWatch(Sketches& sketches) : sketches_(sketches) {}

  const RowStatistics* wanted(const model::AttentionBlock& block) override {
    const std::int64_t rows = block.heads * block.tokens, size = sketches_.map_size;
    maps_.resize(static_cast<std::size_t>(block.heads * size * size));
    keys_.resize(static_cast<std::size_t>(rows * kSketchKeys));
    weights_.resize(keys_.size());
    views_.map = {maps_.data(), {1, block.heads, size, size}};
    views_.top_keys = {keys_.data(), {1, block.heads, block.tokens, kSketchKeys}};
    views_.top_weights = {weights_.data(), {1, block.heads, block.tokens, kSketchKeys}};
    return &views_;
  }

  void seen(const model::AttentionBlock& block) override {
    for (std::int64_t head = 0; head < block.heads; ++head) {
      const std::int64_t place = block.layer * sketches_.heads_per_layer + block.first_head + head;
      HeadSketch& sketch = sketches_.heads[static_cast<std::size_t>(place)];
      keep_map(block.tokens, head, sketch);
      for (const std::int64_t query : sketches_.rows) {
        for (std::int64_t i = 0; i < kSketchKeys; ++i) {
          sketch.top_keys.push_back(views_.top_keys(0, head, query, i));
          sketch.top_weights.push_back(views_.top_weights(0, head, query, i));
        }
      }
      const std::vector<double> scores = last_scores(*block.request, head);
      sketch.keys = static_cast<std::int64_t>(scores.size());
      sketch.scores = quantiles_of(scores, kSketchQuantiles);
    }
  }

 private:
  void keep_map(std::int64_t tokens, std::int64_t head, HeadSketch& sketch) const {
    const std::int64_t size = sketches_.map_size;
    for (std::int64_t r = 0; r < size; ++r) {
      const auto queries =
          static_cast<double>(block_begin(r + 1, tokens, size) - block_begin(r, tokens, size));
      for (std::int64_t c = 0; c < size; ++c) sketch.map.push_back(views_.map(0, head, r, c) / queries);
    }
  }

  Sketches& sketches_;
  std::vector<double> maps_, weights_;
  std::vector<std::int64_t> keys_;
  RowStatistics views_;
};

}  // namespace

std::vector<std::int64_t> sketched_rows(std::int64_t n) {
  std::vector<std::int64_t> rows;
  for (const std::int64_t eighths : {1, 2, 4, 6, 7, 8})
    rows.push_back(std::max<std::int64_t>(n * eighths / 8, 1) - 1);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Sketches sketch_heads(model::Session& session, std::span<const model::Token> excerpt) {
  const auto tokens = static_cast<std::int64_t>(excerpt.size());
  if (tokens < 1 || session.block() < tokens)
    throw Error(ErrorCode::bad_argument,
                fmt::format("sketch_heads: {} tokens; there must be from 1 to the session's block of {}",
                            tokens, session.block()));
  const model::Configuration& c = session.model().configuration();
  Sketches sketches{.map_size = std::min(kSketchMap, tokens),
                    .rows = sketched_rows(tokens),
                    .heads_per_layer = c.heads,
                    .heads = std::vector<HeadSketch>(static_cast<std::size_t>(c.layers * c.heads))};
  for (const model::Token token : excerpt) sketches.tokens.push_back(model::token_text(session.model(), token));
  SketchWatch watch(sketches);
  const model::Watching watching(session, watch);
  session.rewind(0);
  session.feed(excerpt);
  return sketches;
}

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
