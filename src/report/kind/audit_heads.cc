// The explorer of heads in the view of an audit: every statistic of every head, charts of the one that is chosen, and what was drawn
// of each over one excerpt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/kind/audit_charts.h"
#include "report/view/looks.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

// What a page leaves out first has the greatest number. A page always has what is not named here.
constexpr std::string_view kLeastNeededLast[] = {
    "maps/0",       "keys/0",    "gap_1",  "gap_4",   "scores/0", "maps/1",               "peak_outside/ends", "keys/1", "gap_16", "scores/1",
    "keys/2",       "gap_2",     "gap_8",  "peak",    "support",  "entropy_outside/ends", "first/ends",        "maps/2", "keys/3", "scores/2",
    "keys/4",       "keys/5",    "spread/ends",       "entropy/ends",                     "scores/3",          "peak/ends",
    "distance_outside/ends",     "support/ends",      "maps/3"};
constexpr int kOtherSpares = 10;  // of the other parts of the view, which go after these

int spare_of(const std::string& part) {
  const auto found = std::find(std::begin(kLeastNeededLast), std::end(kLeastNeededLast), part);
  return found == std::end(kLeastNeededLast) ? 0 : kOtherSpares + 1 + static_cast<int>(found - std::begin(kLeastNeededLast));
}

// One number per head, or a list of as many as there are lengths. Throws what at() throws for another.
HeadLayer::Values over_heads(const Json& attention, const char* statistic, const char* part) {
  HeadLayer::Values values;
  for (const Json& head : attention.at("heads")) {
    auto& line = values.emplace_back();
    const Json& found = part ? head.at(statistic).at(part) : head.at(statistic);
    if (!found.is_array())
      line.push_back(number_in(found));
    else
      for (std::size_t i = 0; i < attention.at("lengths").size(); ++i) line.push_back(number_in(found.at(i)));
  }
  return values;
}

struct Statistic {
  const char *id, *name;
  Format format;
  HeadLayer::Scale scale;
  const char* meaning;
};
constexpr auto kRoot = HeadLayer::Scale::root, kLinear = HeadLayer::Scale::linear;
constexpr Statistic kStatistics[] = {
    {"peak_outside", "peak outside", fixed_to(3), kRoot, "Bright: the head puts its weight on one key. Dark: it is blunt."},
    {"entropy", "entropy, nats", fixed_to(3), kLinear, "Bright: the weight is spread over many keys. Dark: it lies on few."},
    {"entropy_outside", "entropy outside, nats", fixed_to(3), kLinear, "Bright: what is not on the first token is spread over many keys."},
    {"first", "weight of the first token", fixed_to(3), kRoot, "Bright: a sink, which parks its weight on the first token."},
    {"peak", "peak", fixed_to(3), kRoot, "Bright: one key has most of the weight, be it the first token."},
    {"spread", "spread of scores", fixed_to(1), kLinear, "Bright: scores lie far apart, so a sharp row is possible."},
    {"support", "support", kCount, kLinear, "Bright: many keys have a weight above 0; under softmax all do."},
    {"distance_outside", "distance to the heaviest key outside", kCount, kLinear, "Bright: the head looks far back. Dark: at what is near."}};

// From 0 or the least value to the greatest of all heads and lengths: the same colours at every length, so that they compare.
void set_ramp(HeadLayer& layer, bool from_zero) {
  if (layer.scale == kRoot) {
    layer.ramp = {"0", "1, by its square root"};
    return;
  }
  bool any = false;
  for (const auto& line : layer.values)
    for (const auto& value : line) {
      if (!value) continue;
      layer.least = any ? std::min(layer.least, *value) : *value;
      layer.most = any ? std::max(layer.most, *value) : *value;
      any = true;
    }
  if (from_zero) layer.least = 0.0;
  layer.ramp = {formatted(layer.format, layer.least), formatted(layer.format, layer.most)};
}

HeadLayer statistic_layer(const Json& attention, const Statistic& one) {
  HeadLayer layer{.id = one.id, .name = one.name, .format = one.format, .meaning = one.meaning, .scale = one.scale};
  layer.values = over_heads(attention, one.id, "median");
  layer.low = over_heads(attention, one.id, "low");
  layer.high = over_heads(attention, one.id, "high");
  layer.spare = spare_of(layer.id);
  layer.spare_ends = spare_of(layer.id + "/ends");
  set_ramp(layer, true);
  return layer;
}

std::string blunt_sentence(const Json& attention) {
  return fmt::format("{} of {} blunt: median peak below {}.", count(last_of(attention.at("blunt_heads")).get<double>()),
                     plural(static_cast<double>(attention.at("heads").size()), "head"),
                     plain_number(attention.at("thresholds").at("blunt").get<double>()));
}

HeadLayer slope_layer(const Json& attention, const char* id, const char* name, const char* meaning) {
  HeadLayer layer{.id = id, .name = name, .format = fixed_to(2), .values = over_heads(attention, id, nullptr), .meaning = meaning};
  set_ramp(layer, false);
  return layer;
}

HeadLayer blunting_layer(const Json& attention) {
  // Eight times the greatest length is as far as a forecast is worth telling apart.
  const double least = attention.at("lengths").at(0).get<double>(), most = 8.0 * last_of(attention.at("lengths")).get<double>();
  HeadLayer layer{.id = "blunting", .name = "blunting length", .format = kCount, .values = over_heads(attention, "blunting", "length"),
                  .meaning = "Bright: sharp up to great lengths. Dark: blunt early.", .scale = HeadLayer::Scale::logarithmic,
                  .least = least, .most = most, .ramp = {count(least), count(most) + " and more"}};
  double known = 0.0;
  for (const Json& head : attention.at("heads")) {
    layer.texts.push_back(blunting_text(head.at("blunting")));
    known += head.at("blunting").at("length").is_null() ? 0.0 : 1.0;
  }
  layer.figure = "blunting";
  layer.title = "The length at which each head goes blunt, measured or foreseen";
  layer.subtitle = "Where the median peak outside the first token falls below the threshold. Dark: soon; bright: late.";
  layer.described = fmt::format("{} of {} go blunt or are foreseen to.", count(known),
                                plural(static_cast<double>(attention.at("heads").size()), "head"));
  if (known < static_cast<double>(attention.at("heads").size())) layer.unknown = "none foreseen";
  return layer;
}

// How crowded the top of a head's rows is: keys whose score is within a gap of the largest.
std::vector<HeadLayer> gap_layers(const Json& attention) {
  std::vector<HeadLayer> layers;
  const std::vector<double> gaps = numbers_in(attention.at("gaps"));
  for (const double gap : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    const auto place = static_cast<std::size_t>(std::find(gaps.begin(), gaps.end(), gap) - gaps.begin());
    if (place == gaps.size()) continue;
    HeadLayer layer{.id = fmt::format("gap_{}", gap), .name = fmt::format("keys within {}", gap), .format = kCount};
    layer.spare = spare_of(layer.id);
    for (const Json& head : attention.at("heads")) {
      auto& line = layer.values.emplace_back();
      for (const Json& at_length : head.at("gap_counts")) line.push_back(number_in(at_length.at(place)));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

Curve of_layer(const char* layer, const char* name, Paint paint, Format format = fixed_to(3)) {
  return {.name = name, .look = {paint, ""}, .format = format, .layer = layer};
}

Chart head_chart(const Json& attention, const char* id, Axis up) {
  Chart chart{.across = tokens_axis(numbers_in(attention.at("lengths"))), .up = std::move(up), .id = id};
  chart.marks = trained_mark(attention);
  return chart;
}

Chart weight_chart(const Json& attention, const std::vector<HeadLayer>& layers) {
  Chart chart = head_chart(attention, "head-weights", share_axis("weight"));
  chart.curves = {of_layer("peak_bound", "bound", Paint::grey), of_layer("first", "first token", Paint::purple),
                  of_layer("peak_outside", "peak outside", Paint::vermillion)};
  chart.curves[0].look.dash = kDashed;
  chart.curves[0].marker = Marker::none;
  std::vector<double> values{1.0};
  for (const HeadLayer& layer : layers)
    if (layer.id == "peak_outside")
      for (const auto& line : layer.values)
        for (const auto& value : line)
          if (value > 0.0) values.push_back(*value);
  chart.up_log = decade_axis("weight", values);
  return chart;
}

Chart entropy_chart_of(const Json& attention) {
  const Json& lengths = attention.at("lengths");
  Chart chart = head_chart(attention, "head-entropy", value_axis("entropy, nats", 0.0, 1.05 * std::log(std::max(2.0, last_of(lengths).get<double>()))));
  chart.curves = {of_layer("entropy", "entropy", Paint::blue), of_layer("entropy_outside", "outside", Paint::green)};
  chart.reference = equal_weights_line(numbers_in(lengths));
  return chart;
}

Chart gap_chart(const Json& attention) {
  const Json& lengths = attention.at("lengths");
  const double ends[] = {1.0, last_of(lengths).get<double>()};
  Chart chart = head_chart(attention, "gaps", decade_axis("keys near the largest score", ends));
  constexpr std::tuple<const char*, const char*, Paint> kGaps[] = {{"gap_1", "within 1", Paint::vermillion},
                                                                   {"gap_2", "within 2", Paint::purple},
                                                                   {"gap_4", "within 4", Paint::blue},
                                                                   {"gap_8", "within 8", Paint::green},
                                                                   {"gap_16", "within 16", Paint::grey}};
  for (const auto& [layer, name, paint] : kGaps) chart.curves.push_back(of_layer(layer, name, paint, kCount));
  chart.reference = Reference{.name = "n: all keys", .rising = true};
  for (const double n : numbers_in(lengths)) chart.reference->points.push_back({n, n});
  return chart;
}

std::vector<HeadFigure> head_figures(const Json& attention, const std::vector<HeadLayer>& layers) {
  const std::string longest = count(last_of(attention.at("lengths")).get<double>());
  return {{.chart = weight_chart(attention, layers)},
          {.chart = entropy_chart_of(attention)},
          {.caption = "How crowded the top of its rows is",
           .words = fmt::format("Keys within 1 of the largest score in the median row at {} tokens, itself counted: {{gap_1}}; within 4: {{gap_4}}. "
                                "Under softmax a key that is 1 below gets 37\u00a0% of the largest weight, one that is 4 below 2\u00a0%: where hundreds "
                                "are that near, no single one can stand out.",
                                longest),
           .chart = gap_chart(attention)}};
}

void add_parts(Heads& made, const char* key, const char* named, const std::vector<Json>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) made.parts.push_back({key, named, sizes[i], spare_of(fmt::format("{}/{}", key, i))});
}

void add_sketches(Heads& made, const Json& sketches) {
  if (sketches.at("heads").size() != made.heads.size())
    throw Error(ErrorCode::bad_argument, "report: there is not one sketch for every head");
  const Json& tokens = sketches.at("tokens");
  made.drawn = {{"tokens", tokens.size()}};
  // A map of so short a text has a cell for every token.
  if (tokens.size() == sketches.at("map_size").get<std::size_t>()) made.drawn["texts"] = tokens;
  add_parts(made, "maps", "maps", maps_by_size(sketches));
  add_parts(made, "keys", "heaviest keys", keys_by_size(sketches));
  add_parts(made, "scores", "rows of scores", scores_by_size(sketches));
}

}  // namespace

Axis tokens_axis(const std::vector<double>& lengths) { return counts_axis("tokens", "n", lengths); }

Heads heads_of(const Json& attention, const Json* sketches) {
  const Json& measured = attention.at("heads");
  Heads made{.id = "head", .title = "Every head", .lengths = numbers_in(attention.at("lengths"))};
  for (const Json& head : measured) made.heads.push_back({head.at("layer").get<double>(), head.at("head").get<double>(), text_at(head, "kind")});
  for (const Statistic& one : kStatistics) made.layers.push_back(statistic_layer(attention, one));
  HeadLayer& peaks = made.layers[0];
  peaks.figure = "heads";
  peaks.title = fmt::format("Every head at {} tokens: the largest weight outside the first token", count(made.lengths.back()));
  peaks.subtitle = "One cell is one head, colored by its median over rows. Dark heads spread their weight thin. " + blunt_sentence(attention);
  peaks.described = blunt_sentence(attention);
  peaks.unknown = "not measured";
  made.layers.push_back(slope_layer(attention, "entropy_slope", "slope of entropy against ln n",
                                    "Bright: entropy grows with length as fast as it can; 1 is that of equal weights."));
  made.layers.push_back(slope_layer(attention, "entropy_slope_outside", "slope of entropy outside", ""));
  made.layers.push_back(blunting_layer(attention));
  made.layers.push_back({.id = "peak_bound", .name = "bound", .values = over_heads(attention, "peak_bound", nullptr)});
  for (HeadLayer& layer : gap_layers(attention)) made.layers.push_back(std::move(layer));
  made.words = "Layer {layer}, head {head}: {kind}. Blunt from: {blunting}. Slope of entropy against ln n: {entropy_slope}; outside: "
               "{entropy_slope_outside}.";
  made.figures = head_figures(attention, made.layers);
  made.columns = {{"peak outside", "peak_outside"}, {"bound", "peak_bound"}, {"first token", "first"},
                  {"entropy", "entropy"}, {"outside", "entropy_outside"}, {"spread", "spread"}, {"support", "support"},
                  {"distance", "distance_outside"}};
  const auto trained = number_at(attention, "trained_context");
  const bool past = trained && made.lengths.back() > *trained;
  made.note = std::string("Medians over rows. Bound: the largest weight that any key could have among so many whose "
                          "scores lie within this spread. Distance: tokens back to the heaviest key outside.") +
              (past ? " *: past the trained length." : "");
  for (const double length : made.lengths) made.length_names.push_back(count(length) + (trained && length > *trained ? "*" : ""));
  // Rows to play with, of heads that differ as much as they can: the bluntest, the sharpest, a sink.
  const std::vector<std::size_t> order = worst_first(attention);
  made.first = order.front();
  const auto is_sink = [&](std::size_t i) { return made.heads[i].kind == "sink"; };
  std::vector<std::size_t> picking = order;
  std::erase_if(picking, is_sink);
  if (!picking.empty()) made.offered = {picking.front(), picking.back()};
  if (const auto sink = std::find_if(order.begin(), order.end(), is_sink); sink != order.end()) made.offered.push_back(*sink);
  if (sketches) add_sketches(made, *sketches);
  return made;
}

}  // namespace sharpmax::report
